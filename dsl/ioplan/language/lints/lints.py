"""Classic lints: the figures are true, and of something else than was meant.

Each kind has a name, by which a plan accepts it: `accept "unwritten reads"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import ceil

from msgspec import Struct

from ioplan.drive_account import DriveAccount
from ioplan.drive_needs import MOST_BLANK, best_standing, passes_needed, standing
from ioplan.job_stream import JobStream
from ioplan.language.bind.bind import Cell, amount_of, scaled_ns, workload_of
from ioplan.language.bind.matrix import Matrix
from ioplan.language.bind.references import runs_in, shares_of
from ioplan.language.lints.forecast import (
    MANY,
    after_step,
    after_writes,
    streams_of_step,
    streams_on,
)
from ioplan.language.plan import (
    FULL,
    CellValue,
    CheckedPlan,
    PrepareStep,
    RunTemplate,
    Test,
    WriteStep,
)
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
DRAM_PERCENT = 0.1
"""Drives have about a thousandth of their capacity as DRAM."""
LEAST_LATENCY_S = 3e-6
"""No block device answers sooner; so many I/Os a second and slot can complete."""
THREAD_IOPS = 2e6
"""More a thread of no load generator issues."""
BANDWIDTH_BYTES_PER_S, CAPACITY_BYTES = 1e9, 10**12
"""A middling drive, where the plan alone is known."""
SECOND_NS = 1e9


Parts = tuple[tuple[int, int], ...]
"""Parts of the target from and to, in bytes, in order and apart."""


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
    is_error: bool = False


def lints(
    plan: CheckedPlan,
    capacity_bytes: int = CAPACITY_BYTES,
    account: DriveAccount | None = None,
    is_memory: bool = False,
) -> Iterator[Lint]:
    """All that the plan does not accept, run by run, the first cells of each test.

    `account` is what is known of the target before the plan; `is_memory` is one that
    is in the host's memory.
    """
    account = account or DriveAccount.begun(capacity_bytes)
    is_full = plan.profile == FULL
    walk = _Walk(plan.time_scale, account, is_memory, is_full)
    for test in plan.tests:
        for found in walk.test(test):
            if found.kind not in plan.accepted:
                yield found


class _Walk:
    """Goes through a plan, and follows what it writes."""

    def __init__(
        self, scale: float, account: DriveAccount, is_memory: bool, is_full: bool
    ) -> None:
        self.scale, self.account, self.is_full = scale, account, is_full
        self.memory: list[Found] = [(CACHE, MEMORY, DRIVE, ())] * is_memory

    def test(self, test: Test) -> Iterator[Lint]:
        """All cells; the state is reached before the first, or before each."""
        for number, cell in enumerate(islice(_cells(test), MOST_CELLS)):
            if test.after and (not number or test.after.before_each):
                yield from self._prepare(test)
            for step in runs_in(test.steps):
                yield from self._run(test, step, cell)

    def _prepare(self, test: Test) -> Iterator[Lint]:
        assert test.after
        run = next(iter(runs_in(test.steps)))
        then = test.after.then.steps if test.after.then else ()
        for step in (*test.after.precondition.steps, *then):
            if why := self._too_few(step):
                yield Lint(FRESH, *why, test.title, {}, run, is_error=self.is_full)
            self.account = after_step(self.account, step)

    def _too_few(self, step: PrepareStep) -> tuple[str, str] | None:
        """Why a write that is to become steady cannot."""
        if not isinstance(step, WriteStep) or not (step.rule and step.passes):
            return None
        streams = streams_of_step(self.account, step)
        return _insufficient(self.account, streams, step.passes)

    def _run(self, test: Test, step: RunTemplate, cell: Cell) -> Iterator[Lint]:
        texts = {name: value.text for name, value in cell.items()}
        cell = _at_lowest(test, step, cell)
        workload = workload_of(step.workload, step.override, cell)
        streams = streams_on(self.account, workload)
        passes = self._passes(streams, step, cell)
        bounded = step.rule and step.passes
        if bounded and (why := _insufficient(self.account, streams, passes)):
            yield Lint(FRESH, *why, test.title, texts, step, is_error=self.is_full)
        checks = (
            _rates(workload),
            _regions(workload, self.account.capacity_bytes),
            self._reads(streams),
        )
        found = [*self.memory, *(one for check in checks for one in check)]
        is_steady = step.rule is not None or test.rounds is not None
        found += [] if is_steady else self._writes(streams, passes)
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
            is_timed = not (step.passes or step.limit)
            most = MANY if is_timed else passes
            self.account = after_writes(self.account, streams, most)

    def _reads(self, streams: tuple[JobStream, ...]) -> Iterator[Found]:
        """Reads of space that nothing has written."""
        for one in streams:
            if not one.read_percent or one.trim_percent >= 100:
                continue
            if text := standing(self.account, [_reading(one)]).lacks:
                yield UNWRITTEN, f"{text}: {NOTHING_THERE}", WRITE_FIRST, ()
            elif not self.account.since and not self.account.may_hold(one):
                edges = one.region_start_bytes, one.region_end_bytes
                if parts := tuple(self.account.unwritten(*edges)):
                    yield UNWRITTEN, NOTHING_THERE, WRITE_FIRST, parts

    def _writes(self, streams: tuple[JobStream, ...], passes: float) -> Iterator[Found]:
        """Writes that end before an erased drive holds something everywhere."""
        if not self.account.since:
            return
        after = after_writes(self.account, streams, passes)
        writers = [_writing(one) for one in streams if one.writes]
        found = best_standing(after, writers)
        if writers and found.doubt:
            yield FRESH, f"at its end, {found.doubt}: {ERASED_BLOCKS}", FILL_FIRST, ()

    def _passes(
        self, streams: tuple[JobStream, ...], step: RunTemplate, cell: Cell
    ) -> float:
        """How many passes of its streams the run does, nearly."""
        if step.passes:
            return float(amount_of(step.passes, cell).value)
        length = sum(one.region_bytes for one in streams) or 1
        if step.limit:
            return amount_of(step.limit, cell).value / length
        if step.run is None:
            return 0.0
        run_s = scaled_ns(amount_of(step.run, cell), self.scale) / SECOND_NS
        return run_s * BANDWIDTH_BYTES_PER_S / length


def _reading(stream: JobStream) -> JobStream:
    return stream.model_copy(update={"read_percent": 100.0, "trim_percent": 0.0})


def _writing(stream: JobStream) -> JobStream:
    return stream.model_copy(update={"read_percent": 0.0})


def _insufficient(
    account: DriveAccount, streams: Sequence[JobStream], passes: float
) -> tuple[str, str] | None:
    """What is wrong, and the number that would do, of passes that cannot become steady.

    What bytes mean in a region is known once the target's size is.
    """
    in_bytes = any(one.region.start_bytes or one.region.end_bytes for one in streams)
    if not account.since or in_bytes:
        return None
    streams = [_writing(one) for one in streams if one.writes]
    found = best_standing(after_writes(account, streams, passes), streams)
    if not streams or not found.lacks:
        return None
    needed = passes_needed(account, streams)
    least = f"at most {ceil(needed)} passes, or " if needed else ""
    text = (
        f"steady state needs more than 'at most': {found.lacks} after {passes:g} passes"
    )
    if needed and account.drive.blank > MOST_BLANK:
        text += "; independent draws leave e^-n of the blocks unwritten"
    return text, f'{least}{FILL_FIRST}; or accept it: accept "{FRESH}"'


Found = tuple[str, str, str, Parts]

NOTHING_THERE = "a drive returns reads of unwritten space without accessing its flash"
WRITE_FIRST = (
    "write it before, for example: precondition filled { write sequential 128KiB, "
    "1 pass } and in the test: after filled"
)
MEMORY = "the target is memory of the host, not a drive"
DRIVE = "name a drive, or a file on one"
ERASED_BLOCKS = "this is not what the drive sustains"
FILL_FIRST = (
    "write the drive first (write sequential 128KiB, 1 pass), then as the test does "
    "(write random 4KiB, 1 pass)"
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
