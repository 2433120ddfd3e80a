"""The runner on a drive that plays a script, through the real protocol."""

import threading
import time

import pytest
from bench import CAPACITY, READS, done_of, played
from figures import SECOND_NS, counts, stream
from msgspec.structs import replace

from ioplan.backends import BackendError, TargetFacts
from ioplan.job import Counts, Failure, Progress, Result, Started
from ioplan.runner import Limits
from ioplan.runner.execute.watchdog import least_silence_s
from ioplan.workload import Rate, RatePhase, Replay
from ioplan_testing import job as one_job
from ioplan_testing import stream as one_stream

# what goes wrong in a backend


def broken(at, how):
    def script(run):
        yield from how(run) if run.number == at else played(run, 100)

    return script


def dies(run):
    yield from list(played(run, 100))[:2]


def fails(run):
    yield from dies(run)
    yield Failure(cause="gone", message="the device is gone; plug it in")


def refuses(run):
    yield Failure(cause="bad-job", message="it cannot; ask for less")


def raises(run):
    yield from dies(run)
    raise ZeroDivisionError("division by zero")


def says_why(run):
    yield from dies(run)
    raise BackendError("the cable is loose; push it in")


def babbles(run):
    yield from dies(run)
    yield {"event": "progress"}
    raise AssertionError("asked for more")


def malformed(run):
    yield from dies(run)
    yield Progress.model_construct(t_ns="soon", warmup=False, streams=None)


def beyond_all_numbers(run):
    yield from dies(run)
    odd = Counts.model_construct(ios=2, bytes=2, min_ns=1, max_ns=2, sum_ns=10**400)
    yield Result(run_ns=2 * SECOND_NS, streams=(stream(read=odd),))


def unprintable(run):
    *before, last = played(run, 100)
    yield from before
    yield last.model_copy(update={"facts": {"drive": run}})


def contradicts(run):
    *before, last = played(run, 100)
    yield from before
    wrong = stream(read=counts([1000] * 200, bins=(1000, 3)))
    yield last.model_copy(update={"streams": (wrong,)})


def is_short(run):
    yield from played(run, 100, seconds=1)


def misreads(run):
    *before, last = played(run, 100)
    yield from before
    (one,) = last.streams
    wrong = one.model_copy(update={"verify_errors": 3})
    yield last.model_copy(update={"streams": (wrong,)})


@pytest.mark.parametrize(
    ("how", "cause", "message", "intervals"),
    [
        (dies, "no-result", "ended without a result", 1),
        (fails, "gone", "plug it in", 1),
        (refuses, "bad-job", "ask for less", 0),
        (raises, "backend-error", "ZeroDivisionError: division by zero", 1),
        (says_why, "backend-error", "push it in", 1),
        (babbles, "backend-error", "an invalid event: {'event': 'progress'}", 1),
        (malformed, "backend-error", "the backend failed: ", 1),
        (beyond_all_numbers, "backend-garbage", "results are invalid", 0),
        (unprintable, "backend-garbage", "results are invalid", 0),
        (contradicts, "inconsistent", "inconsistent", 2),
        (is_short, "short", "ended after 50 % of its length", 1),
        (misreads, "verify", "3 blocks", 2),
    ],
)
def test_a_run_that_fails_is_kept_and_ends_the_session(
    bench, how, cause, message, intervals
):
    tally = bench.go(READS % "expect iops > 1", broken(2, how))
    good, bad = bench.records
    assert (good.status, bad.status) == ("ok", "failed")
    assert bad.cause == cause
    assert message in bad.message
    assert len(bench.store.detail("s1", 2).series) == intervals
    assert bad.verdicts == ()
    assert tally.status == bench.status == "failed"
    assert tally.failure == f"T: {bad.message}"
    assert bench.drive.started == 2
    assert bench.log[-1] == ("session_finished", "failed")


def test_what_was_measured_before_it_failed_is_kept(bench):
    bench.go(READS % "", broken(1, fails))
    (record,) = bench.records
    assert (record.total.ios, record.run_s) == (100, 1)
    assert record.backend.mode == "scripted"


@pytest.mark.parametrize("name", ["start", "leave"])
def test_an_exception_around_a_run_is_a_failed_run(bench, name):
    def moment(at):
        if at == name:
            bench.drive.open_runs = 0
            raise OSError(5, "Input/output error")

    bench.drive.moment = moment
    tally = bench.go(READS % "")
    record = bench.records[-1]
    assert (record.status, record.cause) == ("failed", "backend-error")
    assert "Input/output error" in record.message
    assert tally.status == bench.status == "failed"


@pytest.mark.parametrize(
    "error", [BackendError("it is locked"), OSError("it is locked")]
)
@pytest.mark.parametrize("name", ["purge", "idle"])
def test_a_purge_or_a_rest_that_fails_ends_the_session(bench, name, error):
    def moment(at):
        if at == name:
            raise error

    bench.drive.moment = moment
    text = 'precondition p { purge idle 1s }\ntest "T" { after p\n'
    tally = bench.go(text + "run random 4KiB 100/0 for 1s }")
    assert tally.status == bench.status == "failed"
    assert "it is locked" in tally.failure
    assert bench.records == []


@pytest.mark.parametrize(
    ("body", "share"), [("0/100, 2 passes", "50.2 %"), ("100/0 for 2MiB", "50 %")]
)
def test_a_run_by_bytes_may_be_short_as_well(bench, body, share):
    def half(run):
        yield from played(run, CAPACITY // 4096, seconds=1)

    def whole(run):
        yield from played(run, CAPACITY // 4096, seconds=2)

    text = f'test "T" {{ run random 4KiB {body} }}'
    assert bench.go(text, whole).status == "ok"
    assert bench.go(text, half).status == "failed"
    (record,) = bench.records
    assert record.cause == "short"
    assert f"ended after {share}" in record.message


def test_a_pass_need_not_reach_what_no_io_fits(bench):
    """Three threads, each in its own third of 1 MiB, write 256 KiB each."""
    text = 'test "T" { run sequential 256KiB 0/100, qd 1 each, threads 3, 1 pass }'

    def script(run):
        whole = done_of(run.job, 3, 3)
        yield Started(mode="scripted")
        yield Progress(t_ns=SECOND_NS, interval_ns=SECOND_NS, streams=(whole,))
        yield Result(run_ns=SECOND_NS, streams=(whole,))

    assert bench.go(text, script).status == "ok"


def test_a_run_that_someone_else_stops_is_short(bench):
    def script(run):
        events = list(played(run, 100))
        run.stopped = True
        last = events[-1].model_copy(
            update={"stopped": True, "run_ns": SECOND_NS * 2 - 9}
        )
        yield from [events[0], events[1], last]

    tally = bench.go(READS % "", script)
    assert "the run was stopped after 99.9 % of" in tally.failure


def test_failed_trims_fail_the_run(bench):
    def script(run):
        made = stream(read=counts([1000] * 100), trim=Counts(errors=4))
        yield Result(run_ns=2 * SECOND_NS, streams=(made,))

    bench.go(READS % "expect errors == 0", script)
    (record,) = bench.records
    assert "4 I/Os failed" in record.warnings
    assert (record.status, record.cause) == ("failed", "device-error")
    assert "4 I/Os failed" in record.message
    assert record.directions["trim"].errors == 4


@pytest.mark.parametrize(("run_ms", "told"), [(600, True), (970, False), (1040, False)])
def test_what_the_warm_up_left_outstanding_is_told(bench, run_ms, told):
    """A stall across its end is in no figure; `run_ns` begins with the next I/O."""

    def script(run):
        done = (stream(read=counts([1000] * 100)),)
        yield Progress(t_ns=SECOND_NS, interval_ns=SECOND_NS, streams=done)
        yield Result(run_ns=run_ms * 10**6, stopped=False, streams=done)

    found = []
    for rate in ("", ", rate 100 iops"):
        text = f"run random 4KiB 100/0{rate} for 1s, warmup 1s"
        bench.go(f'test "T" {{ {text} }}', script)
        found.append([w for w in bench.records[-1].warnings if "warm-up" in w])
    closed, rated = found
    assert closed == told * [
        "I/Os of the warm-up were outstanding for the first 0.4 s: "
        "the figures cover the other 0.6 s"
    ]
    assert rated == []


@pytest.mark.parametrize("warmup", [True, False])
def test_the_first_interval_with_an_error_ends_the_run(bench, warmup):
    first = {"name": "EIO", "direction": "read", "offset": 512, "bytes": 4096}

    def script(run):
        made = stream(read=counts([1000] * 100).model_copy(update={"errors": 1}))
        yield Progress(
            t_ns=SECOND_NS, interval_ns=SECOND_NS, warmup=warmup, streams=(made,)
        )
        assert run.stopped
        yield Result(
            run_ns=SECOND_NS,
            stopped=True,
            streams=(made,),
            facts={"first_error": first},
        )

    bench.go(READS % "", script)
    (record,) = bench.records
    assert (record.status, record.cause) == ("failed", "device-error")
    said = "1 I/Os failed, the first a read of 4096 bytes at offset 512: EIO"
    assert said in record.message
    assert record.total.ios == 100


# what goes wrong elsewhere


def test_a_full_disk_ends_the_session_and_leaves_what_is_stored(bench):
    def moment(name):
        if name == "add" and bench.drive.started == 2:
            bench.store.full = True

    bench.store.moment = moment
    assert "disk is full" in bench.go(READS % "").failure
    assert [record.seq for record in bench.records] == [1]
    assert bench.drive.started == 2
    assert bench.log[-1] == ("session_finished", "failed")


def test_a_disk_that_is_full_at_the_very_end_is_told(bench):
    def moment(name):
        bench.store.full = name == "finish"

    bench.store.moment = moment
    tally = bench.go(READS % "")
    assert "disk is full" in tally.failure
    assert len(bench.records) == 3


@pytest.mark.parametrize(
    "method", ["session_started", "step", "progress", "record", "verdict"]
)
def test_a_watcher_that_breaks_leaves_no_run_behind(bench, method):
    """A reader of --json that went away, for example."""

    def breaks(*_):
        raise BrokenPipeError

    setattr(bench.spy, method, breaks)
    with pytest.raises(BrokenPipeError):
        bench.go(READS % "expect iops > 1")
    assert bench.status == "failed"
    assert bench.drive.started <= 1
    assert bench.log[-1] == ("session_finished", "failed")


# what does not end

BRIEF = Limits(silence_s=0.3, overdue_s=2.0, stop_s=0.3, kill_s=0.3)


def test_a_backend_that_goes_on_is_broken_off(bench):
    def script(run):
        yield from played(run, 100, seconds=100)

    bench.go(READS % "", script, limits=BRIEF)
    (record,) = bench.records
    assert (record.status, record.cause) == ("failed", "hung")
    assert "went on for 2 s after its time" in record.message
    assert record.run_s == pytest.approx(5, abs=1)


@pytest.mark.long
def test_a_backend_that_nothing_ends_is_left(bench):
    """Not even its last words are waited for."""
    freed = threading.Event()

    def script(run):
        yield next(iter(played(run, 100)))
        freed.wait()

    bench.drive.waits = True
    tally = bench.go(READS % "", script, limits=BRIEF)
    freed.set()
    (record,) = bench.records
    assert (record.status, record.cause) == ("failed", "stuck")
    assert "could not be killed" in record.message
    assert bench.drive.started == 1 and tally.status == "failed"


@pytest.mark.promise("errors.hang")
def test_a_slow_rate_is_no_hang(bench):
    """It may be silent for twenty of its gaps, and for five intervals."""

    def script(run):
        quiet = Progress(
            t_ns=SECOND_NS // 2, interval_ns=SECOND_NS // 2, warmup=True, streams=()
        )
        yield next(iter(played(run, 100)))
        time.sleep(1.0)
        yield quiet
        yield from list(played(run, 100))[1:]

    text = 'test "T" { run random 4KiB 100/0, rate 100 iops for 2s }'
    hasty = replace(BRIEF, silence_s=0.1)
    assert bench.go(text, script, limits=hasty).status == "ok"


PHASES = tuple(RatePhase(length_ns=SECOND_NS, per_s=per_s) for per_s in (20, 0))
TRACE = Replay(
    digest="a",
    ios=9,
    span_ns=10**12,
    end_bytes=8,
    moved_bytes=8,
    quiet_ns=100 * SECOND_NS,
)


@pytest.mark.parametrize(
    ("fields", "silence_s"),
    [
        ({"rate": Rate(iops=10)}, 5),
        ({"rate": Rate(iops=0.1)}, 200),
        ({"rate": Rate(bytes_per_s=409.6)}, 200),
        ({"rate": Rate(iops=10, phases=PHASES)}, 5 + 1),
        ({"rate": Rate(iops=1, first_per_s=0, last_per_s=2)}, 10),
        # nobody asks for an I/O in the quiet time of a trace; as fast as possible it has none
        ({"replay": TRACE, "pace": "recorded", "speed": 1}, 5 + 100),
        ({"replay": TRACE, "pace": "after", "speed": 4}, 5 + 25),
        ({"replay": TRACE, "pace": "fast", "speed": 1}, 5),
    ],
)
def test_a_silence_that_was_asked_for_is_no_hang(fields, silence_s):
    assert least_silence_s(job_of(**fields)) == silence_s


def test_a_rest_between_two_streams_is_no_hang():
    """The second begins with its warm-up."""
    job = job_of()
    first, second = (job.streams[0].model_copy(update={"name": n}) for n in "ab")
    parts = (
        first.model_copy(update={"ends_ns": 10 * SECOND_NS}),
        second.model_copy(update={"starts_ns": 70 * SECOND_NS}),
    )
    asked = {"streams": parts, "run_ns": 99 * SECOND_NS, "warmup_ns": 20 * SECOND_NS}
    assert least_silence_s(job.model_copy(update=asked)) == least_silence_s(job) + 40


def job_of(**fields):
    facts = TargetFacts(path="t", kind="file", capacity_bytes=1 << 20, block_bytes=512)
    return one_job(facts, one_stream(facts, **fields), interval_ns=SECOND_NS)
