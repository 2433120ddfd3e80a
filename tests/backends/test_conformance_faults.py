"""The conformance kit finds what is wrong: each defect fails the test that is for it."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from msgspec import Struct
from test_blocking import FileBackend, named
from wrapped import Wrapped, WrappedDrive

from ioplan.job import (
    SECOND_NS,
    Event,
    Failure,
    Job,
    Progress,
    Result,
)
from ioplan.workload import Uniform
from ioplan_testing import SLACK_NS, Conformance, Times

pytestmark = pytest.mark.slow

Does = Callable[[Job], Job]
Tells = Callable[[Event, Job], list[Event]]


class Defect(Struct, frozen=True):
    """What is done in place of a job, what is told of it, and what else is wrong."""

    does: Does = lambda job: job
    tells: Tells = lambda event, job: [event]
    enters: Callable[[], None] = lambda: None
    stops: bool = True
    dies: bool = True
    claims: bool = False


class Wrong(Wrapped):
    """A sound execution, but for what a defect does to it."""

    def __init__(self, drive, job, defect):
        super().__init__(drive.start(defect.does(job)))
        self.job, self.defect = job, defect

    def events(self, event):
        yield from self.defect.tells(event, self.job)

    def stop(self):
        if self.defect.stops:
            super().stop()

    def kill(self):
        if self.defect.dies:
            super().kill()

    def __enter__(self):
        self.defect.enters()
        return super().__enter__()


class WrongBackend(FileBackend):
    def __init__(self, defect):
        self.defect = defect
        if defect.claims:
            self.speaks |= {"rate", "hotspots"}

    def gaps(self, job, options):
        return [] if self.defect.claims else super().gaps(job, options)

    def open(self, request):
        return WrappedDrive(
            super().open(request), lambda one, job: Wrong(one, job, self.defect)
        )


class Kit(Conformance):
    __test__ = False

    def __init__(self, defect):
        self.defect = defect

    def backend(self):
        return WrongBackend(self.defect)

    def request(self, folder):
        return named(folder)


def streams(**fields):
    """Other fields of each stream; a function is asked with the job."""

    def does(job):
        new = {n: v(job) if callable(v) else v for n, v in fields.items()}
        made = tuple(one.model_copy(update=new) for one in job.streams)
        return job.model_copy(update={"streams": made})

    return does


def limits(**fields):
    """Other fields of the job."""
    return lambda job: job.model_copy(update={n: v(job) for n, v in fields.items()})


def counts(change):
    """Other counts in each interval and in the result."""

    def changed(stream):
        of = stream.directions.items()
        parts = {d: c.model_copy(update=change(c)) for d, c in of}
        return stream.model_copy(update={"directions": parts})

    def tells(event, job):
        if not isinstance(event, Result | Progress):
            return [event]
        made = tuple(map(changed, event.streams))
        return [event.model_copy(update={"streams": made})]

    return tells


def as_if_asked(event, job):
    """The result has the time that was asked."""
    if isinstance(event, Result):
        event = event.model_copy(update={"run_ns": job.run_ns})
    return [event]


def well(event, job):
    """A run that fails is told as one that went well."""
    if isinstance(event, Failure):
        event = Result(run_ns=job.run_ns or 1, streams=())
    return counts(lambda c: {"errors": 0})(event, job)


def is_first(event):
    return isinstance(event, Progress) and event.t_ns == event.interval_ns


ORPHANS: list[subprocess.Popen[bytes]] = []


def orphan():
    """A program that nobody ends."""
    ORPHANS.append(subprocess.Popen(["sleep", "20"]))


def adopted():
    """One that has changed its parent, so that it is nobody's child here."""
    subprocess.run(["sh", "-c", "sleep 3 & exit 0"], check=True)


def raises(job):
    if not job.streams:
        raise IndexError("no streams")
    return job


RUN = "test_a_run_takes_its_time", ()
EXACT = "test_what_it_calls_exact_is_so"
DEFECTS: dict[str, tuple[Defect, str, tuple[Any, ...], str]] = {
    "another share": (Defect(streams(read_percent=50)), "test_reads_have_their_share", (30,), "30 % were asked"),
    "one size of several": (
        Defect(streams(read_sizes=lambda job: job.streams[0].read_sizes[:1])),
        "test_sizes_have_their_shares", (), "mean size",
    ),
    "the whole target": (
        Defect(streams(region_start_bytes=0, region_end_bytes=lambda job: job.capacity_bytes)),
        "test_offsets_lie_in_the_region", ("random",), "outside the region",
    ),
    "crooked": (Defect(streams(align_bytes=512)), "test_offsets_are_aligned", (), "not aligned"),
    "half a pass": (
        Defect(limits(passes=lambda job: job.passes and 0.5), counts(lambda c: {"bytes": c.bytes * 2})),
        "test_a_pass_covers_every_block", ("sequential", 1), "were not written",
    ),
    "shallow": (
        Defect(streams(qd=lambda job: job.streams[0].qd // 2)),
        "test_the_queue_depth_is_held", (8, 2), "outstanding",
    ),
    "hasty": (Defect(limits(run_ns=lambda job: (job.run_ns or 2) // 2)), *RUN, "were asked"),
    "lingers as long again as a loaded machine may": (
        Defect(limits(run_ns=lambda job: (job.run_ns or 0) + 2 * SLACK_NS)),
        EXACT, ("align",), "were asked",
    ),
    "the warm-up is measured, in the time of the run": (
        Defect(
            limits(warmup_ns=lambda _: 0, run_ns=lambda job: (job.run_ns or 0) + job.warmup_ns),
            as_if_asked,
        ),
        "test_the_warm_up_is_left_out", (), "outstanding",
    ),
    "lost in a histogram": (
        Defect(tells=counts(lambda c: {"bins": c.bins[2:]})),
        "test_histograms_count_each_io", (), "the histogram counts",
    ),
    "another mean": (
        Defect(tells=counts(lambda c: {"sum_ns": c.sum_ns * 9 // 10})),
        "test_histograms_count_each_io", (), "histogram's mean",
    ),
    "lost in the series": (
        Defect(tells=lambda event, job: [] if is_first(event) else [event]),
        "test_intervals_add_up_to_the_result", (), "add up to",
    ),
    "two ends": (
        Defect(tells=lambda event, job: [event] * (1 + isinstance(event, Result))),
        "test_events_come_in_order", (), "an end came in between",
    ),
    "no end": (
        Defect(tells=lambda event, job: [] if isinstance(event, Result) else [event]),
        *RUN, "without a Result",
    ),
    "hides errors": (Defect(tells=well), "test_damage_before_a_run_is_told", (), "ended well"),
    "deaf": (Defect(stops=False), "test_stop_ends_a_run_with_its_result", (), "went on for"),
    "undying": (Defect(dies=False), "test_kill_ends_a_run_by_force", (), "went on for"),
    "orphan": (Defect(enters=orphan), "test_leaving_early_leaves_nothing_behind", (), "sleep 20"),
    "adopted": (Defect(enters=adopted), "test_a_whole_run_leaves_nothing_behind", (), "sleep 3"),
    "writes anyway": (
        Defect(limits(read_only=lambda _: False)),
        "test_a_read_only_job_cannot_write", (), "have changed",
    ),
    "claims hotspots, and spreads evenly": (
        Defect(streams(distribution=Uniform()), claims=True), EXACT, ("hotspots",), "in part 1",
    ),
    "claims rates": (
        Defect(streams(rate=None, qd=8), claims=True), EXACT, ("rate",), "I/Os (arrived|came)",
    ),
    "raises": (Defect(raises), "test_an_odd_job_is_a_failure", ("no streams",), "no streams"),
}  # fmt: skip


@pytest.mark.long_but_first
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(name, tmp_path):
    """A busy host does few I/Os, which tell little: then the run is a longer one."""
    defect, test, arguments, said = DEFECTS[name]
    error = IndexError if name == "raises" else AssertionError
    kit = type("One", (Kit,), {})(defect)
    try:
        with suppress(pytest.fail.Exception):
            with pytest.raises(error, match=said):
                cast(Any, getattr(kit, test))(*arguments, tmp_path)
            return
        kit.times = kit.times._replace(run_ns=4 * SECOND_NS)
        longer = tmp_path / "longer"
        longer.mkdir()
        with pytest.raises(error, match=said):
            cast(Any, getattr(kit, test))(*arguments, longer)
    finally:
        for process in ORPHANS:
            process.kill()
            process.wait()
        ORPHANS.clear()


def test_longer_runs_need_a_gap_that_excuses_them(tmp_path):
    seconds = Times(run_ns=SECOND_NS, warmup_ns=SECOND_NS)
    kit = type("Slow", (Kit,), {"times": seconds})(Defect())
    with pytest.raises(AssertionError, match="takes short runs"):
        kit.test_longer_times_have_a_reason(tmp_path)


def test_a_class_that_inherits_tests_has_a_run_of_its_own(tmp_path):
    first = type("First", (Kit,), {})
    second = type("Second", (first,), {})
    (_, told), (_, again) = (one(Defect()).mixed(tmp_path) for one in (first, second))
    assert told is not again
