"""A file of another tool as the text of a plan, with what was lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ioplan.core.value import Value
from ioplan.importer.findings import Findings
from ioplan.importer.kinds import READERS
from ioplan.importer.sharing import shortened
from ioplan.importer.writer import Library, plan_text
from ioplan.language.check.check import check
from ioplan.language.errors.diagnostic import Diagnostic, PlanError, in_order
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.source import Source

SHOWN_LOSSES = 12


class ImportedPlan(Value):
    """The plan's text; `plan` is None where what came out is no plan."""

    text: str
    found: list[Diagnostic]
    plan: CheckedPlan | None

    @property
    def is_whole(self) -> bool:
        """Whether the plan asks all that the file asks."""
        return all(one.severity == "note" for one in self.found)


def import_plan(
    source: Source,
    kind: str,
    variables: Mapping[str, str],
    library: Library | None = None,
) -> ImportedPlan:
    """The plan that a file asks for. Raises ImportFault where it cannot be read."""
    findings = Findings()
    outline = shortened(READERS[kind](source, variables, findings))
    found = in_order(findings.found)
    text = plan_text(outline, source.name, _comments(source, found), library)
    try:
        plan = None if library else check(Source(f"{source.name} as a plan", text))
    except PlanError as error:
        return ImportedPlan(text, [*found, *error.diagnostics], None)
    return ImportedPlan(text, found, plan)


def _comments(source: Source, found: list[Diagnostic]) -> tuple[str, ...]:
    """Where the plan comes from, and in what it is not the same."""
    losses = [one for one in found if one.severity != "note"]
    name = Path(source.name).name
    if not losses:
        return (f"Imported from {name}.",)
    shown = [_loss(one) for one in losses[:SHOWN_LOSSES]]
    rest = len(losses) - len(shown)
    more = [f"and {rest} more: ioplan import {name} tells them"] if rest else []
    return (f"Imported from {name}; not the same is:", *shown, *more)


def _loss(one: Diagnostic) -> str:
    line, _ = one.span.source.position(one.span.start)
    return f"- line {line}: {one.message}"
