"""The simulated drive replays a trace I/O by I/O, in virtual time, beside the trace's own rate."""

import json
from itertools import pairwise

import numpy as np
import pytest
from command import ioplan, plan_file
from recorded import MS_NS, recorded

from ioplan.trace import DISCARD, DTYPE, FLUSH, READ, WRITE, write
from ioplan_sim import DriveSpec

NAMES = {READ: "read", WRITE: "write", FLUSH: "flush", DISCARD: "trim"}
MIB = 1 << 20


def records(folder, *steps):
    text = f'trace web = "web.iotrace"\ntest "A" {{ {" ".join(steps)} }}'
    words = ("--backend", "sim", "--create", "64MiB", "--json")
    done = ioplan("run", plan_file(folder, text), *words)
    assert done.code == 0, done.err
    return done.records


def done_of(record):
    found = record["directions"].items()
    return {name: (one["ios"], one["bytes"]) for name, one in found if one["ios"]}


def asked_of(trace):
    rows = {name: trace[trace["kind"] == kind] for kind, name in NAMES.items()}
    return {
        name: (len(some), int(some["size"].sum()))
        for name, some in rows.items()
        if len(some)
    }


def even(ios, gap_ns, **columns):
    made = np.zeros(ios, DTYPE)
    made["time_ns"], made["size"] = np.arange(ios) * gap_ns, 4096
    for name, values in columns.items():
        made[name] = values
    return made


def test_each_io_is_done_once_at_its_time(tmp_path):
    """More than are looked at together, of all kinds and sizes."""
    trace = recorded(tmp_path, ios=5000, mean_gap_ns=MS_NS / 2)
    slow, fast = records(tmp_path, "run replay web", "run replay web, speed 4")
    span_s = int(trace["time_ns"][-1]) / 1e9
    for record, run_s in ((slow, span_s), (fast, span_s / 4)):
        assert done_of(record) == asked_of(trace)
        assert record["run_s"] == pytest.approx(run_s, abs=5e-3)
        late = record["backend"]["facts"]["lateness"]["main"]
        assert late["ios"] == 5000 and late["max_ns"] == 0 and late["within_1ms"] == 1


@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        (", only reads", lambda ios: ios[ios["kind"] == READ]),
        (", only writes", lambda ios: ios[ios["kind"] == WRITE]),
        (" 500ms..2s", lambda ios: ios[between(ios, 500 * MS_NS, 2000 * MS_NS)]),
        (
            " 500ms..2s, only writes",
            lambda ios: ios[
                between(ios, 500 * MS_NS, 2000 * MS_NS) & (ios["kind"] == WRITE)
            ],
        ),
        (" as fast as possible, qd 4", lambda ios: ios),
    ],
)
def test_what_is_meant_is_done(tmp_path, clause, meant):
    trace = recorded(tmp_path, ios=5000, mean_gap_ns=MS_NS / 2)
    (record,) = records(tmp_path, f"run replay web{clause}")
    assert done_of(record) == asked_of(meant(trace))


def between(ios, from_ns, to_ns):
    return (ios["time_ns"] >= from_ns) & (ios["time_ns"] < to_ns)


def test_writes_as_reads_write_nothing(tmp_path):
    trace = recorded(tmp_path, ios=2000, mean_gap_ns=MS_NS / 2)
    one, other = records(
        tmp_path, "run replay web, writes as reads", "run replay web, only writes"
    )
    assert [*done_of(one)] == ["read"] and one["wear"]["host_written_bytes"] == 0
    written = other["wear"]["host_written_bytes"]
    assert written == pytest.approx(asked_of(trace)["write"][1], rel=0.01)


def test_what_waits_for_a_place_counts_from_its_time(tmp_path):
    """All are due at once: with one place, I/O n waits for n - 1 before it. Each takes
    as long as in a closed loop of one, so that the mean is by arithmetic."""
    ios = 1000
    write(tmp_path / "web.iotrace", [even(ios, 0, kind=READ)])
    closed, burst = records(
        tmp_path, "run replay web as fast as possible, qd 1", "run replay web, qd 1"
    )
    each_ns, found_ns = (
        one["directions"]["read"]["latency"]["mean_ns"] for one in (closed, burst)
    )
    assert found_ns == pytest.approx((ios + 1) / 2 * each_ns, rel=0.02)
    assert burst["run_s"] == pytest.approx(ios * each_ns / 1e9, rel=0.02)
    late = burst["backend"]["facts"]["lateness"]["main"]
    assert late["max_ns"] == pytest.approx((ios - 1) * each_ns, rel=0.02)
    assert late["drift_ns"] == pytest.approx(late["max_ns"], rel=0.001)
    assert late["p50_ns"] == pytest.approx(late["max_ns"] / 2, rel=0.02)
    assert "lateness" not in closed["backend"]["facts"]


def test_only_what_was_written_is_read_from_the_flash(tmp_path):
    """The first half of the drive is written, then each place is read once: those of
    the half that was written take the time of a flash read, the others do not."""
    places = np.arange(0, 64 * MIB, 64 << 10)
    kinds = np.repeat((WRITE, READ), (len(places) // 2, len(places)))
    offsets = np.concatenate((places[: len(places) // 2], places))
    sizes = np.where(kinds == WRITE, 64 << 10, 4096)
    trace = even(len(kinds), 10 * MS_NS, kind=kinds, offset=offsets, size=sizes)
    write(tmp_path / "web.iotrace", [trace])
    (record,) = records(tmp_path, "run replay web")
    read = record["directions"]["read"]["latency"]
    points = {one["percent"]: one["latency_ns"] for one in read["percentiles"]}
    flash_ns = DriveSpec.model_construct().flash.read
    assert read["min_ns"] < flash_ns / 2 and points[90] > flash_ns
    halves = (read["min_ns"] + points[90]) / 2
    assert read["mean_ns"] == pytest.approx(halves, rel=0.1)
    assert record["backend"]["facts"]["mapped_share"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("filled", "dies"), [("sequential 128KiB", 4), ("random 4KiB", 16)]
)
def test_reads_wait_by_how_the_drive_was_written(filled, dies, tmp_path):
    """A die of the 64 is always at work on a write when 64 KiB are read: what was
    written in order is on 4 dies, what was written in pieces of 4 KiB on 16. So by
    arithmetic 1 of 16 waits, or 4 do: the 90th percentile tells which."""
    pairs, random = 2000, np.random.default_rng(5)
    trace = even(2 * pairs, MS_NS // 2, kind=np.tile((WRITE, READ), pairs))
    trace["size"] = np.tile((32 << 10, 64 << 10), pairs)
    trace["offset"] = random.integers(0, 900, 2 * pairs) << 16
    trace["offset"][::2] = 960 << 16  # never where is read
    write(tmp_path / "web.iotrace", [trace])
    text = (
        'trace web = "web.iotrace"\n'
        f"precondition filled {{ write {filled}, 2 passes }}\n"
        'test "A" { after filled run replay web }'
    )
    words = ("--backend", "sim", "--create", "64MiB", "--json")
    done = ioplan("run", plan_file(tmp_path, text), *words)
    assert done.code == 0, done.err
    found = done.records[-1]["directions"]["read"]["latency"]
    points = {one["percent"]: one["latency_ns"] for one in found["percentiles"]}
    waits_ns = 250_000
    assert points[50] < waits_ns < points[99]
    assert (points[90] > waits_ns) == (dies / 64 > 0.1)


def test_a_discard_is_forgotten(tmp_path):
    places = np.arange(0, 64 * MIB, MIB)
    kinds = np.repeat((WRITE, DISCARD), len(places))
    offsets = np.concatenate((places, places))
    trace = even(len(kinds), 10 * MS_NS, kind=kinds, offset=offsets, size=MIB)
    trace = trace[: len(places) + len(places) // 4]
    write(tmp_path / "web.iotrace", [trace])
    (record,) = records(tmp_path, "run replay web")
    stored = record["backend"]["facts"]["mapped_share"]
    assert stored == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize("how", ["recorded", "wrapped", "scaled"])
def test_places_are_in_the_region(how, tmp_path):
    """A trace of 16 MiB, or one of as many places in 64, in the third quarter of 64; what
    is then discarded in the other quarters was none of it."""
    places = np.arange(0, 16 * MIB, 64 << 10) * (1 if how == "recorded" else 4)
    ios = {"offset": places, "size": 64 << 10}
    write(tmp_path / "web.iotrace", [even(len(places), MS_NS, kind=WRITE, **ios)])
    trims = "run sequential 64KiB 0/100, trim 100%, 1 pass"
    steps = (
        f"run replay web, region 50%..75%, offsets {how}",
        f"{trims}, region 0%..50%",
        f"{trims}, region 75%..100%",
    )
    first, *_, last = (one["backend"]["facts"] for one in records(tmp_path, *steps))
    assert 0 < last["mapped_share"] == first["mapped_share"] <= 0.25
    assert (first["mapped_share"] == 0.25) == (how != "wrapped")


def test_a_time_ends_it_before_and_never_behind_its_end(tmp_path):
    write(tmp_path / "web.iotrace", [even(10_000, MS_NS)])
    short, whole = records(tmp_path, "run replay web for 2s", "run replay web for 1h")
    assert short["total"]["ios"] == 2000 and short["run_s"] == 2
    assert whole["total"]["ios"] == 10_000 and whole["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("both for 1s", "it replays no trace beside other streams; use io_uring"),
        (
            "replay answered after completion",
            "does not support 'replay after completion'",
        ),
        ("replay web for 1s\n expect p99 during 0s..0.5s < 1s", "by phases"),
    ],
)
def test_other_replays_are_refused(tmp_path, body, why):
    write(tmp_path / "web.iotrace", [even(1000, MS_NS)])
    text = (
        'trace web = "web.iotrace"\ntrace answered = "std/answered.iotrace"\n'
        "workload both { recorded = replay web other = random 4KiB 100/0 }\n"
        f'test "A" {{ run {body} }}'
    )
    target = ("--backend", "sim", "--create", "64MiB")
    done = ioplan("run", plan_file(tmp_path, text), *target)
    assert done.code == 2 and why in " ".join(done.err.split()), done.err


@pytest.mark.long
def test_a_speed_is_sought(tmp_path):
    """At most as fast as the drive does these reads without a pause."""
    made, gap_ns = np.zeros(4000, DTYPE), MS_NS
    made["time_ns"], made["size"] = np.arange(len(made)) * gap_ns, 4096
    made["offset"] = np.random.default_rng(1).integers(0, 16000, len(made)) * 4096
    write(tmp_path / "web.iotrace", [made])
    (fast,) = records(tmp_path, "run replay web as fast as possible, qd 1")
    most = sum(d["iops"] for d in fast["directions"].values()) * gap_ns / 1e9
    probes = records(
        tmp_path,
        "run replay web, qd 1",
        f"seek highest speed in {most / 64:.0f}..{most * 4:.0f} where p99 <= 200us",
    )
    (stream,) = probes[-1]["asked"]["workload"]["streams"]
    assert 0.8 * most < stream["speed"] < 1.1 * most, most


# the rate of the trace itself, beside what a run of it did

KINDS = {"read": READ, "write": WRITE, "trim": DISCARD}


def rows(folder, step):
    """The intervals of a run on the simulated drive."""
    text = f'trace web = "web.iotrace"\ntest "A" {{ run {step} }}'
    plan = plan_file(folder, text)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert done.code == 0, done.err
    shown = ioplan("export", "last", "--format", "jsonl", "--series").out
    return [json.loads(line) for line in shown.splitlines()]


def asked(trace, due_ns, ends_s):
    """By interval, how many and how many bytes of each kind."""
    edges = [-1, *(end * 1e9 + 1 for end in ends_s)]
    parts = [
        trace[(due_ns > begin) & (due_ns <= end)] for begin, end in pairwise(edges)
    ]
    some = [[part[part["kind"] == kind] for kind in KINDS.values()] for part in parts]
    return [
        [n for one in kinds for n in (len(one), int(one["size"].sum()))]
        for kinds in some
    ]


def told(rows):
    names = [f"trace_{kind}_{what}" for kind in KINDS for what in ("ios", "bytes")]
    return [[row[name] for name in names] for row in rows]


@pytest.mark.long
def test_each_interval_has_what_the_trace_has_in_it(tmp_path):
    """At another speed, and of a part."""
    trace = recorded(tmp_path, ios=6000, mean_gap_ns=MS_NS)
    times = trace["time_ns"]
    found = rows(tmp_path, "replay web 1s..5s, speed 2, interval 500ms")
    part = trace[(times >= 1e9) & (times < 5e9)]
    due_ns = (part["time_ns"] - part["time_ns"][0]) / 2
    assert len(found) > 2
    assert told(found) == asked(part, due_ns, [row["t_s"] for row in found])
    assert sum(row["trace_read_ios"] for row in found) == (part["kind"] == READ).sum()


def test_what_a_slow_drive_delays_is_in_the_trace_at_its_time(tmp_path):
    """At 1,000 times the speed all is due in the first intervals."""
    trace = recorded(tmp_path, ios=6000, mean_gap_ns=MS_NS)
    found = rows(tmp_path, "replay web, only reads, speed 1000, qd 1, interval 10ms")
    reads = int((trace["kind"] == READ).sum())
    assert sum(row["read_ios"] for row in found) == reads
    assert found[0]["trace_read_ios"] == reads > 2 * found[0]["read_ios"]
    assert {row["trace_write_ios"] for row in found} == {0}


def test_a_chart_over_time_has_both(tmp_path):
    recorded(tmp_path, ios=3000, mean_gap_ns=MS_NS)
    rows(tmp_path, "replay web, speed 2 chart lines iops, bandwidth by time")
    shown = ioplan("show", "last", "--tables").out
    page = tmp_path / "r.html"
    assert ioplan("report", "last", "-o", page).code == 0
    for name in ("iops of the trace", "bandwidth of the trace"):
        assert name in shown and name in page.read_text()


def test_what_has_no_times_has_no_rate(tmp_path):
    recorded(tmp_path, ios=500)
    found = rows(tmp_path, "replay web as fast as possible")
    assert not [name for name in found[0] if name.startswith("trace_")]


def test_a_trace_that_is_gone_after_the_run_is_a_warning(tmp_path, monkeypatch):
    def gone(*_):
        raise FileNotFoundError("the trace")

    monkeypatch.setattr("ioplan.job_replay.own_rate", gone)
    recorded(tmp_path, ios=500)
    found = rows(tmp_path, "replay web, speed 4")
    assert found and not [name for name in found[0] if name.startswith("trace_")]
    (record,) = ioplan("export", "last", "--format", "jsonl").lines
    told = "the rate of the trace itself is not known: the trace"
    assert told in record["warnings"]
