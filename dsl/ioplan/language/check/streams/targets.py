"""Checks streams on several targets: what they share, and what is of one target."""

from __future__ import annotations

from ioplan.language.check.scope import Scope
from ioplan.language.plan import StreamTemplate
from ioplan.language.syntax.source import Span

OVER_ALL = {"qd": "qd_over_all", "rate": "rate_over_all"}
"""Who shares it goes with each number: an override gives both again."""
OF_ONE = ("sync", "flush", "verify", "replay")
"""A flush is of one target, and so is what `verify` and a trace know."""


def check_targets(stream: StreamTemplate, where: Span, scope: Scope) -> None:
    """A stream over all targets is one stream: depth and rate are both shared."""
    has, spans = stream.attributes, stream.spans
    if has.get("targets") and has.get("hosts"):
        scope.findings.error(
            "a stream is on several hosts or on several targets, not both",
            spans.get("targets", where),
            "remove one of them",
        )
    shared = {what: has.get(name, False) for what, name in OVER_ALL.items()}
    if not any(shared.values()):
        return
    for what, is_shared in shared.items():
        if what in spans and not is_shared:
            other = "qd" if what == "rate" else "rate"
            scope.findings.error(
                f"{other!r} is over all targets, and {what!r} is not",
                spans[what],
                f"add to it: over all; or remove it from {other!r}",
            )
    for what in OF_ONE:
        if what in spans:
            scope.findings.error(
                f"{what!r} does not apply to a stream over all targets",
                spans[what],
                "remove one of them",
            )
