"""A file of another tool as the text of a plan, with what was lost on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language import (
    CheckedPlan,
    Diagnostic,
    PlanError,
    Source,
    Span,
    check,
    in_order,
)
from ioplan.trace import TraceError
from ioplan.trace.convert import convert
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.translate import outline_of as of_fio
from ioplan_importer.fio_results.log_file import is_log
from ioplan_importer.fiosynth import outline_of_suite
from ioplan_importer.outline import PlanOutline, TraceOutline
from ioplan_importer.sharing import shortened
from ioplan_importer.vdbench.runs import outline_of_parameters
from ioplan_importer.writer import Library, plan_text

# Which tool a file is of, by what stands in it.

Read = Callable[[Source, Mapping[str, str], Findings], PlanOutline]

RESULTS, LOGS, OPTIONS = "fio results", "fio logs", "fio options"
VDBENCH = re.compile(r"^\s*(?:sd|wd|rd|fsd|fwd|hd|general)\s*=", re.MULTILINE)
SECTION = re.compile(r"^\s*\[", re.MULTILINE)
OTHER_OUTPUT = re.compile(r"^[2-5];fio-[0-9]|^.+: \(g=\d+\): rw=", re.MULTILINE)
JOB_FILES = (".fio", ".job")
READERS: dict[str, Read] = {
    "fio": of_fio,
    OPTIONS: partial(of_fio, tell_files=False),
    "fiosynth": outline_of_suite,
    "vdbench": outline_of_parameters,
}
"""By the tool's name, what makes an outline of its file. Each raises ImportFault."""


def kind_of(source: Source) -> str:
    """`fio`, `vdbench`, `fiosynth`, RESULTS or LOGS. Raises ImportFault."""
    text = source.text
    if is_log(source.name):
        return LOGS
    if '"fio version"' in text or '"jobs"' in text:
        return RESULTS
    if text.lstrip().startswith("{"):
        return "fiosynth" if _has(text, "def") else RESULTS
    if SECTION.search(text) or source.name.endswith(JOB_FILES):
        return "fio"
    if VDBENCH.search(text):
        return "vdbench"
    if OTHER_OUTPUT.search(text):
        raise ImportFault(
            "this is fio's output for people, or its terse one",
            Span(source, 0, max(1, text.find("\n"))),
            "only its JSON is read: run fio with --output-format=json+",
        )
    raise ImportFault(
        "this is no file that can be imported",
        Span(source, 0, max(1, text.find("\n"))),
        "job files and JSON of fio, suites of FioSynth and parameter files of vdbench "
        "can",
    )


def _has(text: str, key: str) -> bool:
    try:
        return key in json.loads(text)
    except (ValueError, RecursionError):
        return False


SHOWN_LOSSES = 12


Place = Callable[[str], AbstractContextManager[Path]]
"""Where a file of this name is written, whole or not at all."""


class ImportedPlan(Struct, frozen=True):
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
    place: Place | None = None,
) -> ImportedPlan:
    """The plan that a file asks for. Raises ImportFault where it cannot be read.

    What it replays becomes trace files at a `place`, beside where the plan is to be.
    """
    findings = Findings()
    try:
        outline = shortened(READERS[kind](source, variables, findings))
    except ImportFault as fault:
        fault.found = in_order(findings.found)
        raise
    found = in_order(findings.found)
    roots = {_made(one, place) for one in outline.traces}
    text = plan_text(outline, source.name, _comments(source, found), library)
    if library:
        return ImportedPlan(text, found, None)
    checked = partial(check, roots=(*roots,))
    name = f"{source.name} as a plan"
    text, impossible = _without_impossible(text, name, checked)
    found = [*found, *impossible]
    try:
        return ImportedPlan(text, found, checked(Source(name, text)))
    except PlanError as error:
        return ImportedPlan(text, [*found, *error.diagnostics], None)


def _made(trace: TraceOutline, place: Place | None) -> Path:
    """The folder with the trace file in it. Raises ImportFault, or what place does."""
    if place is None:
        raise ImportFault(
            "a replay needs a trace file beside its plan",
            trace.span,
            "name the plan with -o FILE, without --prove",
        )
    try:
        with place(trace.file_name) as path:
            convert(trace.log, path)
    except (TraceError, OSError) as error:
        raise ImportFault(
            f"{trace.log}: {error}", trace.span, "ioplan trace convert may help"
        ) from error
    return path.parent


def _without_impossible(
    text: str, name: str, checked: Callable[[Source], CheckedPlan]
) -> tuple[str, list[Diagnostic]]:
    """Expectations that no run of the plan can decide become comments, and are told."""
    try:
        checked(Source(name, text))
    except PlanError as error:
        lines, told = text.split("\n"), []
        for one in error.diagnostics:
            number, _ = one.span.source.position(one.span.start)
            line = lines[number - 1].strip()
            if line.startswith("expect "):
                lines[number - 1] = f"  # cannot be decided: {line}"
                told.append(replace(one, severity="warning"))
        return "\n".join(lines), told
    return text, []


def _comments(source: Source, found: list[Diagnostic]) -> tuple[str, ...]:
    """Where the plan comes from, and in what it is not the same."""
    losses = [one for one in found if one.severity != "note"]
    name = Path(source.name).name
    if not losses:
        return (f"Imported from {name}.",)
    shown = [_loss(one, source) for one in losses[:SHOWN_LOSSES]]
    rest = len(losses) - len(shown)
    more = [f"and {rest} more: ioplan import {name} tells them"] if rest else []
    return (f"Imported from {name}; not the same is:", *shown, *more)


def _loss(one: Diagnostic, source: Source) -> str:
    line, _ = one.span.source.position(one.span.start)
    own = one.span.source.name == source.name
    file = "" if own else f"{Path(one.span.source.name).name}, "
    return f"- {file}line {line}: {one.message}"
