"""A parameter file as definitions: `name=value` pairs, lists, defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ioplan.core.text import did_you_mean
from ioplan.language.syntax.source import Source, Span
from ioplan_importer.findings import Findings

DEFINITION = re.compile(r"(sd|wd|rd|hd|fsd|fwd)\s*=\s*([^,\s]+)", re.IGNORECASE)
PAIR = re.compile(r"([a-z_]+)\s*=\s*(\([^)]*\)|[^,\s]*)", re.IGNORECASE)
FILES = ("fsd", "fwd")
QUIET = frozenset(("interval", "openflags", "lun", "host", "sd", "wd", "size", "count"))
"""What a plan has no word for, and needs none: the target, and how often to print."""
AXES = {
    **{"forthreads": "qd", "forxfersize": "size", "forrdpct": "read"},
    **{"threads": "qd", "xfersize": "size", "rdpct": "read"},
}
"""Lists of a run that make a matrix, by the axis."""
USED = {
    "sd": {"threads", *QUIET},
    "wd": {
        "rdpct",
        "xfersize",
        "seekpct",
        "skew",
        "iorate",
        "range",
        *QUIET,
        "threads",
    },
    "rd": {
        "iorate",
        "elapsed",
        "warmup",
        "curve",
        "distribution",
        *QUIET,
        *AXES,
    },
}
ABBREVIATED = {"el": "elapsed", "in": "interval", "xf": "xfersize", "th": "threads"}
NO_WORD = "a plan has no word for it"
HELP = {"pause": "write before the run: idle 30s"}
HITS = ("rhpct", "whpct")
"""Cache hits that are to be made; none are the default."""


class Setting(Struct, frozen=True):
    """One `name=value` of a definition, with its place."""

    value: str
    span: Span

    @property
    def listed(self) -> list[str]:
        """The values of a list, or the one value."""
        inner = self.value.strip("()")
        return [part.strip() for part in inner.split(",") if part.strip()]


class Definition(Struct, frozen=True):
    """A line, with the lines that go on from it."""

    kind: str
    name: str
    span: Span
    settings: dict[str, Setting]

    def text(self, name: str, default: str = "") -> str:
        """The first value of a setting."""
        found = self.settings.get(name)
        return found.listed[0] if found and found.listed else default


def definitions_of(source: Source, findings: Findings) -> Iterator[Definition]:
    """Each definition; a line that begins otherwise goes on from the one before."""
    at, begun = 0, None
    for line in source.text.split("\n"):
        start, at = at, at + len(line) + 1
        code = line.strip()
        if not code or code[0] in "*/#":
            continue
        found = DEFINITION.match(code)
        span = Span(source, start, start + len(line.rstrip()))
        if found:
            if begun:
                yield begun
            begun = _definition(found, line, span, findings)
        elif begun and line[:1].isspace():
            begun.settings.update(_settings(begun.kind, line, span, findings))
        else:
            findings.loss(f"{code[:40]!r} is left out", span, NO_WORD)
    if begun:
        yield begun


def _definition(
    found: re.Match[str], line: str, span: Span, findings: Findings
) -> Definition | None:
    kind, name = found[1].lower(), found[2]
    if kind in FILES:
        findings.error(
            f"{kind}={name} is left out: it is about a file system",
            span,
            "a plan is about one target with direct I/O; keep such runs with vdbench",
        )
        return None
    if kind == "hd":
        return None
    rest = line[line.index(found[0].split("=")[0]) :]
    settings = _settings(kind, rest, span, findings)
    return Definition(kind, name, span, settings)


def _settings(
    kind: str, text: str, span: Span, findings: Findings
) -> dict[str, Setting]:
    settings = {}
    base = span.source.text.find(text, span.start)
    for pair in PAIR.finditer(text):
        name = ABBREVIATED.get(pair[1].lower(), pair[1].lower())
        place = Span(span.source, base + pair.start(), base + pair.end())
        if name == kind:
            continue
        if name in HITS and pair[2] == "0":
            continue
        if name not in USED[kind]:
            near = did_you_mean(name, USED[kind])
            findings.loss(f"{name} is left out{near}", place, HELP.get(name, NO_WORD))
            continue
        settings[name] = Setting(pair[2], place)
    return settings


def with_defaults(definitions: list[Definition]) -> list[Definition]:
    """Each definition with the settings of the last `default` of its kind before it."""
    defaults: dict[str, dict[str, Setting]] = {}
    found = []
    for one in definitions:
        if one.name == "default":
            defaults[one.kind] = {**defaults.get(one.kind, {}), **one.settings}
            continue
        settings = {**defaults.get(one.kind, {}), **one.settings}
        found.append(Definition(one.kind, one.name, one.span, settings))
    return found
