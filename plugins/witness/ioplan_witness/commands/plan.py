"""`ioplan witness PLAN`: what a backend does with a plan, as a device sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import structs
from msgspec.json import encode
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.backends import TargetFacts, TargetRequest
from ioplan.cli import (
    EXPECTATION_FAILED,
    HELD,
    Choice,
    Terminal,
    UsageError,
    chosen_backend,
    print_line,
    print_message,
    requested,
    requested_plan,
)
from ioplan.core import counted
from ioplan.job import SECOND_NS, Job
from ioplan.planner import Run, run_job, runs_of, unfold
from ioplan.runner import keep, nothing_kept, words_of
from ioplan_witness.device import DeviceError, program
from ioplan_witness.run import Witnessed, short, witness

RUN_NS = SECOND_NS
MARKS = {"as asked": "ok", "differs": "DIFFERS", "not judged": "?"}
STYLES = {"as asked": "green", "differs": "red", "not judged": "yellow"}


def witness_plan(*, plan: Path, json: bool, **words: Any) -> int:
    """Run the ends of each test's matrix on the device; 1 if anything differs.

    Raises UsageError, PlanError, BackendError, LabError.
    """
    asked = requested(words)
    checked = requested_plan(plan, asked)
    choice = chosen_backend(asked.backend, asked.lab, asked.options)
    _check(choice)
    differ, said = 0, Said()
    console = Terminal(quiet=json, highlight=False)
    print_version(console, choice)
    with TemporaryDirectory(prefix="ioplan-witness-") as name:
        for number, run in enumerate(ends(runs_of(unfold(checked)))):
            found, spoken = _witnessed(choice, run, Path(name) / str(number))
            said.add(found, spoken)
            differ += bool(found.failure or found.differences)
            _show(console, run, found, json)
    said.keep(choice)
    return EXPECTATION_FAILED if differ else HELD


def _check(choice: Choice) -> None:
    if choice.backend.virtual_time:
        raise UsageError(
            f"the backend {choice.backend.name!r} simulates its I/O, so that none "
            "arrives at a device; name another with --backend"
        )
    try:
        program()
    except DeviceError as error:
        raise UsageError(str(error)) from None


def print_version(console: Console, choice: Choice) -> None:
    """What is witnessed."""
    version = choice.backend.availability(choice.options).version or ""
    console.print(f"{choice.backend.name} {version}".strip(), style="bold")


def ends(runs: Iterable[Run]) -> Iterator[Run]:
    """The first and the last cell of each step of each test."""
    found: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        found.setdefault((run.test.title, run.index), []).append(run)
    for cells in found.values():
        yield cells[0]
        if len(cells) > 1:
            yield cells[-1]


class Said:
    """The words of runs that were as asked, and of those that were not."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.differed: set[str] = set()

    def add(self, found: Witnessed, words: frozenset[str]) -> None:
        """A run. One that failed says nothing, nor does one that is not judged."""
        if found.differences:
            self.differed |= words
        elif found.clauses and not found.open_clauses:
            self.seen |= words

    def keep(self, choice: Choice) -> None:
        """For `ioplan plan`."""
        version = choice.backend.availability(choice.options).version
        programs = nothing_kept(choice.backend.name, version, choice.options)
        keep(programs, self.seen, self.differed)


def _witnessed(
    choice: Choice, run: Run, folder: Path
) -> tuple[Witnessed, frozenset[str]]:
    jobs: list[Job] = []

    def made(facts: TargetFacts) -> Job:
        jobs.append(short(run_job(run, facts, read_only=False), RUN_NS))
        return jobs[-1]

    folder.mkdir()
    request = TargetRequest(options=choice.options, folder=str(folder / "session"))
    rated = any(stream.rate for stream in run.workload.streams)
    found = witness(choice.backend, request, made, folder, rated)
    return found, words_of(jobs)


def _show(console: Console, run: Run, found: Witnessed, json: bool) -> None:
    if json:
        for one in found.clauses:
            place = {"test": run.test.title, "cell": run.cell_text}
            print_line(encode(place | structs.asdict(one)).decode())
    cell = " ".join(f"{axis}={value}" for axis, value in run.cell_text.items())
    console.print(f"\n{run.test.title} {cell}".rstrip(), style="bold")
    if found.failure:
        print_message(f"error: {run.test.title}: the run failed: {found.failure}")
        return
    console.print(_table(found))
    console.print(
        f"{counted(len(found.clauses), 'clause')}, {len(found.differences)} differ"
    )


def _table(found: Witnessed) -> Table:
    names = ("", "clause", "asked", "reported", "seen")
    table = Table(*names, box=None, pad_edge=False)
    for one in found.clauses:
        verdict = Text(MARKS[one.verdict], style=STYLES[one.verdict])
        many = len({clause.stream for clause in found.clauses}) > 1
        name = f"{one.stream}: {one.name}" if many else one.name
        table.add_row(verdict, name, one.asked, one.told, one.seen)
        if one.note:
            table.add_row("", "", one.note)
    return table
