"""The conformance kit finds what is wrong: each defect fails the test that is for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, cast

import pytest
from test_blocking import FileBackend, named
from wrapped import Wrapped, WrappedDrive

from ioplan.backends import Drive, Gap, TargetRequest
from ioplan.job import (
    SECOND_NS,
    Counts,
    Event,
    Failure,
    Job,
    Progress,
    Result,
    StreamCounts,
)
from ioplan.workload import Uniform
from ioplan_testing import SLACK_NS, Conformance, Times

pytestmark = pytest.mark.slow

Change = Callable[[Event, Job], Event]


class Wrong(Wrapped):
    """A sound execution, but for what a defect does to it."""

    def __init__(self, drive: Drive, job: Job, defect: Defect) -> None:
        super().__init__(drive.start(defect.job(job)))
        self.job, self.defect = job, defect

    def events(self, event: Event) -> Iterator[Event]:
        yield from self.defect.events(event, self.job)

    def stop(self) -> None:
        if self.defect.stops:
            super().stop()

    def kill(self) -> None:
        if self.defect.dies:
            super().kill()

    def __enter__(self) -> Self:
        self.defect.enter()
        return super().__enter__()


class Defect:
    """None yet."""

    stops, dies, claims = True, True, False

    def job(self, job: Job) -> Job:
        return job

    def events(self, event: Event, job: Job) -> Iterator[Event]:
        yield event

    def enter(self) -> None:
        pass


class WrongBackend(FileBackend):
    def __init__(self, defect: Defect) -> None:
        self.defect = defect
        if defect.claims:
            self.speaks |= {"rate", "hotspots"}

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        return [] if self.defect.claims else super().gaps(job, options)

    def open(self, request: TargetRequest) -> Any:
        return WrappedDrive(
            super().open(request), lambda one, job: Wrong(one, job, self.defect)
        )


class Kit(Conformance):
    __test__ = False

    def __init__(self, defect: Defect) -> None:
        self.defect = defect

    def backend(self) -> WrongBackend:
        return WrongBackend(self.defect)

    def request(self, folder: Path) -> TargetRequest:
        return named(folder)


def with_streams(job: Job, **fields: Any) -> Job:
    streams = tuple(one.model_copy(update=fields) for one in job.streams)
    return job.model_copy(update={"streams": streams})


def counted(event: Event, change: Callable[[Counts], dict[str, Any]]) -> Event:
    """The event with changed counts."""
    if not isinstance(event, Result | Progress):
        return event

    def one(stream: StreamCounts) -> StreamCounts:
        parts = {
            d: c.model_copy(update=change(c)) for d, c in stream.directions.items()
        }
        return stream.model_copy(update={"directions": parts})

    streams = tuple(map(one, event.streams))
    return event.model_copy(update={"streams": streams})


class WrongShare(Defect):
    def job(self, job: Job) -> Job:
        return with_streams(job, read_percent=50)


class WrongSizes(Defect):
    def job(self, job: Job) -> Job:
        return with_streams(job, read_sizes=job.streams[0].read_sizes[:1])


class WholeTarget(Defect):
    def job(self, job: Job) -> Job:
        everywhere = {"region_start_bytes": 0, "region_end_bytes": job.capacity_bytes}
        return with_streams(job, **everywhere)


class Crooked(Defect):
    def job(self, job: Job) -> Job:
        return with_streams(job, align_bytes=512)


class HalfAPass(Defect):
    def job(self, job: Job) -> Job:
        half = {"passes": 0.5} if job.passes else {}
        return job.model_copy(update=half)

    def events(self, event: Event, job: Job) -> Iterator[Event]:
        yield counted(event, lambda c: {"bytes": c.bytes * 2})


class Shallow(Defect):
    def job(self, job: Job) -> Job:
        return with_streams(job, qd=job.streams[0].qd // 2)


class Hasty(Defect):
    def job(self, job: Job) -> Job:
        return job.model_copy(update={"run_ns": (job.run_ns or 2) // 2})


class Lingers(Defect):
    """Goes on for as long again as a loaded machine may add."""

    def job(self, job: Job) -> Job:
        return job.model_copy(update={"run_ns": (job.run_ns or 0) + 2 * SLACK_NS})


class WarmUpCounts(Defect):
    """The warm-up is measured, in the time of the run."""

    def job(self, job: Job) -> Job:
        run_ns = (job.run_ns or 0) + job.warmup_ns
        return job.model_copy(update={"warmup_ns": 0, "run_ns": run_ns})

    def events(self, event: Event, job: Job) -> Iterator[Event]:
        if isinstance(event, Result):
            event = event.model_copy(update={"run_ns": job.run_ns})
        yield event


class LostInHistogram(Defect):
    def events(self, event: Event, job: Job) -> Iterator[Event]:
        yield counted(event, lambda c: {"bins": c.bins[2:]})


class LyingMean(Defect):
    def events(self, event: Event, job: Job) -> Iterator[Event]:
        yield counted(event, lambda c: {"sum_ns": c.sum_ns * 9 // 10})


class LostInSeries(Defect):
    def events(self, event: Event, job: Job) -> Iterator[Event]:
        if not isinstance(event, Progress) or event.t_ns != event.interval_ns:
            yield event


class TwoEnds(Defect):
    def events(self, event: Event, job: Job) -> Iterator[Event]:
        yield event
        if isinstance(event, Result):
            yield event


class NoEnd(Defect):
    def events(self, event: Event, job: Job) -> Iterator[Event]:
        if not isinstance(event, Result):
            yield event


class HidesErrors(Defect):
    """A run that fails is told as one that went well."""

    def events(self, event: Event, job: Job) -> Iterator[Event]:
        if isinstance(event, Failure):
            event = Result(run_ns=job.run_ns or 1, streams=())
        yield counted(event, lambda c: {"errors": 0})


class Deaf(Defect):
    stops = False


class Undying(Defect):
    dies = False


class Orphan(Defect):
    """A program that nobody ends."""

    pids: list[subprocess.Popen[bytes]] = []

    def enter(self) -> None:
        self.pids.append(subprocess.Popen(["sleep", "20"]))


class Adopted(Orphan):
    """One that has changed its parent, so that it is nobody's child here."""

    def enter(self) -> None:
        subprocess.run(["sh", "-c", "sleep 3 & exit 0"], check=True)


class WritesAnyway(Defect):
    def job(self, job: Job) -> Job:
        return job.model_copy(update={"read_only": False})


class ClaimsHotspots(Defect):
    """Spreads evenly what it says it does not."""

    claims = True

    def job(self, job: Job) -> Job:
        return with_streams(job, distribution=Uniform())


class ClaimsRates(Defect):
    claims = True

    def job(self, job: Job) -> Job:
        return with_streams(job, rate=None, qd=8)


class Raises(Defect):
    def job(self, job: Job) -> Job:
        if not job.streams:
            raise IndexError("no streams")
        return job


DEFECTS: dict[type[Defect], tuple[str, tuple[Any, ...], str]] = {
    WrongShare: ("test_reads_have_their_share", (30,), "30 % were asked"),
    WrongSizes: ("test_sizes_have_their_shares", (), "mean size"),
    WholeTarget: ("test_offsets_lie_in_the_region", ("random",), "outside the region"),
    Crooked: ("test_offsets_are_aligned", (), "not aligned"),
    HalfAPass: ("test_a_pass_covers_every_block", ("sequential", 1), "were not written"),
    Shallow: ("test_the_queue_depth_is_held", (8, 2), "outstanding"),
    Hasty: ("test_a_run_takes_its_time", (), "were asked"),
    Lingers: ("test_what_it_calls_exact_is_so", ("align",), "were asked"),
    WarmUpCounts: ("test_the_warm_up_is_left_out", (), "outstanding"),
    LostInHistogram: ("test_histograms_count_each_io", (), "the histogram counts"),
    LyingMean: ("test_histograms_count_each_io", (), "histogram's mean"),
    LostInSeries: ("test_intervals_add_up_to_the_result", (), "add up to"),
    TwoEnds: ("test_events_come_in_order", (), "an end came in between"),
    NoEnd: ("test_a_run_takes_its_time", (), "without a Result"),
    HidesErrors: ("test_damage_before_a_run_is_told", (), "ended well"),
    Deaf: ("test_stop_ends_a_run_with_its_result", (), "went on for"),
    Undying: ("test_kill_ends_a_run_by_force", (), "went on for"),
    Orphan: ("test_leaving_early_leaves_nothing_behind", (), "sleep 20"),
    Adopted: ("test_a_whole_run_leaves_nothing_behind", (), "sleep 3"),
    WritesAnyway: ("test_a_read_only_job_cannot_write", (), "have changed"),
    ClaimsHotspots: ("test_what_it_calls_exact_is_so", ("hotspots",), "in part 1"),
    ClaimsRates: ("test_what_it_calls_exact_is_so", ("rate",), "I/Os (arrived|came)"),
    Raises: ("test_an_odd_job_is_a_failure", ("no streams",), "no streams"),
}  # fmt: skip


@pytest.mark.long_but_first
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: one.__name__)
def test_a_defect_is_found(defect: type[Defect], tmp_path: Path) -> None:
    """A busy host does few I/Os, which tell little: then the run is a longer one."""
    name, arguments, said = DEFECTS[defect]
    error = IndexError if defect is Raises else AssertionError
    kit = type("One", (Kit,), {})(defect())
    try:
        with suppress(pytest.fail.Exception):
            with pytest.raises(error, match=said):
                cast(Any, getattr(kit, name))(*arguments, tmp_path)
            return
        kit.times = kit.times._replace(run_ns=4 * SECOND_NS)
        longer = tmp_path / "longer"
        longer.mkdir()
        with pytest.raises(error, match=said):
            cast(Any, getattr(kit, name))(*arguments, longer)
    finally:
        for process in Orphan.pids:
            process.kill()
            process.wait()
        Orphan.pids.clear()


def test_longer_runs_need_a_gap_that_excuses_them(tmp_path: Path) -> None:
    seconds = Times(run_ns=SECOND_NS, warmup_ns=SECOND_NS)
    kit = type("Slow", (Kit,), {"times": seconds})(Defect())
    with pytest.raises(AssertionError, match="takes short runs"):
        kit.test_longer_times_have_a_reason(tmp_path)


def test_a_class_that_inherits_tests_has_a_run_of_its_own(tmp_path: Path) -> None:
    first = type("First", (Kit,), {})
    second = type("Second", (first,), {})
    (_, told), (_, again) = (one(Defect()).mixed(tmp_path) for one in (first, second))
    assert told is not again
