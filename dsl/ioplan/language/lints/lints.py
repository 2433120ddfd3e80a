"""Classic lints: the figures are true, and of something else than was meant.

Each kind has a name, by which a plan accepts it: `accept "unwritten reads"`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from ioplan.language.bind.bind import Cell, amount_of, scaled_ns, workload_of
from ioplan.language.bind.matrix import Matrix
from ioplan.language.bind.references import runs_in, shares_of
from ioplan.language.lints.stored import Parts, Stored
from ioplan.language.plan import CellValue, CheckedPlan, RunTemplate, Test
from ioplan.workload import Stream, Workload

# The kinds of classic lints, by the names that `accept` takes.

UNWRITTEN, CACHE, FRESH, RATE = "unwritten reads", "cache", "fresh state", "rate"
KINDS = (UNWRITTEN, CACHE, FRESH, RATE)

LEFT_OUT = "tests left out"
"""Accepted by a plan whose other tests run where a backend cannot do all exactly."""
ACCEPTED = (*KINDS, LEFT_OUT)
"""What a plan may accept."""


MOST_CELLS = 2000
"""So many cells of a test are looked at, so that a check stays quick."""
LEAST_PERCENT = 1.0
"""The least unwritten share that counts: alignment leaves an end over."""
DRAM_PERCENT = 0.1
"""Drives have about a thousandth of their capacity as DRAM."""
LEAST_LATENCY_S = 3e-6
"""No block device answers sooner; so many I/Os a second and slot can complete."""
THREAD_IOPS = 2e6
"""More a thread of no load generator issues."""
BANDWIDTH_BYTES_PER_S, CAPACITY_BYTES = 1e9, 10**12
"""A middling drive, where the plan alone is known."""
SECOND_NS = 1e9


class Lint(Struct, frozen=True):
    """What is wrong with a run, and what to write in its place.

    Reads of what only the plan has not written name these `parts`: whether they hold
    anything is seen on the target.
    """

    kind: str
    text: str
    help: str
    test: str
    cell: dict[str, str]
    run: RunTemplate
    parts: Parts = ()


def lints(
    plan: CheckedPlan,
    capacity_bytes: int = CAPACITY_BYTES,
    is_erased: bool = False,
    is_memory: bool = False,
) -> Iterator[Lint]:
    """All that the plan does not accept, run by run, the first cells of each test.

    `is_erased` is a target that holds nothing before the plan, `is_memory` one that is
    in the host's memory.
    """
    stored = Stored(is_erased=is_erased, capacity_bytes=capacity_bytes)
    walk = _Walk(plan.time_scale, capacity_bytes, stored, is_memory)
    for test in plan.tests:
        for found in walk.test(test):
            if found.kind not in plan.accepted:
                yield found


class _Walk:
    """Goes through a plan, and follows what it has written."""

    def __init__(
        self, scale: float, capacity_bytes: int, stored: Stored, is_memory: bool
    ) -> None:
        self.scale, self.capacity_bytes, self.stored = scale, capacity_bytes, stored
        self.memory: list[Found] = [(CACHE, MEMORY, DRIVE, ())] * is_memory

    def test(self, test: Test) -> Iterator[Lint]:
        """All cells; the state is reached before the first, or before each."""
        for number, cell in enumerate(islice(_cells(test), MOST_CELLS)):
            if test.after and (not number or test.after.before_each):
                self._prepare(test)
            for step in runs_in(test.steps):
                yield from self._run(test, step, cell)

    def _prepare(self, test: Test) -> None:
        assert test.after
        then = test.after.then.steps if test.after.then else ()
        for step in (*test.after.precondition.steps, *then):
            self.stored = self.stored.after(step)

    def _run(self, test: Test, step: RunTemplate, cell: Cell) -> Iterator[Lint]:
        texts = {name: value.text for name, value in cell.items()}
        cell = _at_lowest(test, step, cell)
        workload = workload_of(step.workload, step.override, cell)
        steady = step.rule is not None or test.rounds is not None
        checks = (
            _rates(workload),
            _regions(workload, self.capacity_bytes),
            self._reads(workload),
        )
        found = [*self.memory, *(one for check in checks for one in check)]
        found += [] if steady else self._fresh(workload, step, cell)
        for kind, text, help, parts in found:
            yield Lint(
                kind=kind,
                text=text,
                help=f'{help}; or accept it: accept "{kind}"',
                test=test.title,
                cell=texts,
                run=step,
                parts=parts,
            )
        if workload.writes:
            writes = [one for one in workload.streams if one.writes]
            passes = None if steady else self._written(writes, step, cell)
            self.stored = self.stored.with_writes(workload, passes)

    def _reads(self, workload: Workload) -> Iterator[Found]:
        """Reads of space that nothing has written."""
        for stream in workload.streams:
            if not stream.read_percent or stream.trim_percent >= 100:
                continue
            parts = self.stored.unwritten(stream)
            if sum(end - start for start, end in parts) >= LEAST_PERCENT:
                known = () if self.stored.is_erased else parts
                yield UNWRITTEN, NOTHING_THERE, WRITE_FIRST, known

    def _fresh(
        self, workload: Workload, step: RunTemplate, cell: Cell
    ) -> Iterator[Found]:
        """Writes that end before an erased drive was written once."""
        writes = [one for one in workload.streams if one.writes]
        is_fresh = self.stored.is_erased and self.stored.passes < 1
        if is_fresh and writes and self._written(writes, step, cell) < 1:
            yield FRESH, ERASED_BLOCKS, WRITE_TWICE, ()

    def _written(self, streams: list[Stream], step: RunTemplate, cell: Cell) -> float:
        """How many passes over the target the run writes, nearly."""
        if step.passes:
            edges = (one.region.edges_percent(self.capacity_bytes) for one in streams)
            share = sum(end - start for start, end in edges) / 100
            return float(amount_of(step.passes, cell).value) * share
        if step.limit:
            return amount_of(step.limit, cell).value / self.capacity_bytes
        if step.run is None:
            return 0.0
        run_s = scaled_ns(amount_of(step.run, cell), self.scale) / SECOND_NS
        return run_s * BANDWIDTH_BYTES_PER_S / self.capacity_bytes


Found = tuple[str, str, str, Parts]

NOTHING_THERE = (
    "it reads space that was never written: a drive returns such reads without "
    "accessing its flash"
)
WRITE_FIRST = (
    "write it before, for example: precondition filled { write sequential 128KiB, "
    "1 pass } and in the test: after filled"
)
MEMORY = "the target is memory of the host, not a drive"
DRIVE = "name a drive, or a file on one"
ERASED_BLOCKS = (
    "it writes to an erased drive and ends before the erased blocks are used up: the "
    "drive cannot sustain this performance"
)
WRITE_TWICE = (
    "write the whole drive twice first (write sequential 128KiB, 2 passes), or run "
    "until steady"
)


def _cells(test: Test) -> Iterator[Cell]:
    return Matrix(test.axes, test.skip).cells()


def _at_lowest(test: Test, step: RunTemplate, cell: Cell) -> Cell:
    """What is to be found may well lie below the highest value."""
    if test.seek:
        cell = {**cell, test.seek.axis: test.seek.lowest}
    for _, share in shares_of(step):
        least = share.lowest
        value = CellValue(text=least.text, key=least.value, quantity=least)
        cell = {**cell, share.found_name: value}
    return cell


def _regions(workload: Workload, capacity_bytes: int) -> Iterator[Found]:
    """Regions that a drive's DRAM holds."""
    for stream in workload.streams:
        start, end = stream.region.edges_percent(capacity_bytes)
        percent = end - start
        if percent <= DRAM_PERCENT:
            text = (
                f"its region of {percent:g} % of the target fits into the DRAM of many "
                f"drives, which is about a thousandth of their capacity"
            )
            yield CACHE, text, "use a larger region, for example 0%..10%", ()


def _rates(workload: Workload) -> Iterator[Found]:
    """Rates above what the threads can issue."""
    for stream in workload.streams:
        asked, able = _asked_iops(stream), _able_iops(stream)
        if asked > able:
            text = (
                f"its rate is {asked:_.0f} IOPS, but {stream.threads} x {stream.qd} "
                f"outstanding I/Os of {LEAST_LATENCY_S * 1e6:g} us each can do "
                f"{able:_.0f} at most"
            )
            help = "use a lower rate, more threads or a higher qd"
            yield RATE, text, help, ()


def _asked_iops(stream: Stream) -> float:
    if stream.rate is None:
        return 0.0
    sizes = (*stream.read_sizes, *stream.write_sizes)
    largest = max(one.size_bytes for one in sizes)
    most = max(stream.rate.all_per_s)
    return most if stream.rate.iops else most / largest


def _able_iops(stream: Stream) -> float:
    return stream.threads * min(THREAD_IOPS, stream.qd / LEAST_LATENCY_S)
