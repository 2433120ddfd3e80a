"""`replay`: the I/Os of a trace at its times, by what arrived at a test device."""

from collections import Counter

import numpy as np
import pytest
from recorded import FIELDS, MS_NS, keys, record_of, recorded, run

from ioplan.trace import (
    ANSWERED,
    DISCARD,
    DTYPE,
    FLUSH,
    NO_RESPONSE,
    READ,
    WRITE,
    write,
)
from ioplan_witness import seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]


@pytest.mark.promise("traces.arrives")
def test_what_arrives_is_the_trace(mode, device, tmp_path):
    """Each I/O once: its kind, its place, its size, and whether it has FUA."""
    trace, made = recorded(tmp_path, mean_gap_ns=MS_NS / 2), device()
    record = record_of(run(made, tmp_path, "run replay web"))
    entries = seen(made)
    assert record["backend"]["mode"] == mode
    assert record["backend"]["facts"]["lateness"]["main"]["ios"] == len(trace)
    assert Counter(keys(entries, WRITE, DISCARD)) == Counter(
        keys(trace, WRITE, DISCARD)
    )
    looked_at = Counter(keys(entries, READ, FLUSH))  # by the guard, too
    assert not Counter(keys(trace, READ, FLUSH)) - looked_at
    assert entries["fua"].sum() == trace["flags"].sum()


@pytest.mark.parametrize(
    ("clauses", "done_by"),
    [
        (", qd 1", "sync"),
        (" as fast as possible, qd 1", "sync"),
        (" after completion, qd 8", "io_uring"),
    ],
)
@pytest.mark.promise("traces.arrives")
def test_what_arrives_is_the_trace_in_its_order(clauses, done_by, device, tmp_path):
    """All of it, reads and flushes too: one stretch of the device's log is the trace.

    One I/O is outstanding, in the end because each was complete in the recording before
    the next: what several threads hand to the device at the same time has no order. Its
    file is opened with direct I/O, so that nothing is cached, read ahead or merged; and
    no I/O is as large as what the kernel would split. Before and after it come the
    guard's own reads and flushes.
    """
    plain, made = recorded(tmp_path), device()
    trace = np.zeros(len(plain), ANSWERED)
    trace[[*DTYPE.names]] = plain
    trace["time_ns"] = np.arange(len(trace)) * MS_NS
    trace["response_ns"] = MS_NS // 2
    write(tmp_path / "web.iotrace", [trace])
    record = record_of(run(made, tmp_path, f"run replay web{clauses}"))
    entries = seen(made)
    assert record["backend"]["mode"] == done_by
    arrived, wanted = every(entries, "fua"), every(trace, "flags")
    assert {kind for kind, *_ in wanted} == {READ, WRITE, FLUSH, DISCARD}
    starts = range(len(arrived) - len(wanted) + 1)
    (at,) = [n for n in starts if arrived[n : n + len(wanted)] == wanted]
    others = arrived[:at] + arrived[at + len(wanted) :]
    assert {kind for kind, *_ in others} <= {READ, FLUSH}


def every(ios, fua):
    """What and where each is, of any kind, and whether it has FUA."""
    return list(zip(*(ios[f].tolist() for f in (*FIELDS, fua)), strict=True))


@pytest.mark.long_but_first
@pytest.mark.parametrize("how", ["recorded", "wrapped", "scaled"])
def test_a_region_has_all_of_it(how, device, tmp_path):
    """A trace of 1 MiB in the second half of 4 MiB; or more of one, in 1 MiB of it."""
    trace, made, base = recorded(tmp_path, mean_gap_ns=MS_NS / 2), device(), 2 << 20
    step = f"run replay web, region 50%..100%, offsets {how}"
    if how != "recorded":
        trace["offset"] *= 4
        write(tmp_path / "web.iotrace", [trace])
        step = step.replace("100%", "75%")
    record_of(run(made, tmp_path, step))
    changes = np.isin(trace["kind"], (WRITE, DISCARD))
    entries = seen(made)
    changed = entries[np.isin(entries["kind"], (WRITE, DISCARD))]
    assert len(changed) == changes.sum()
    assert changed["offset"].min() >= base
    ends = changed["offset"] + changed["size"]
    assert ends.max() <= (base * 2 if how == "recorded" else base + (1 << 20))
    if how == "recorded":
        placed = trace.copy()
        placed["offset"] += base
        wanted = Counter(keys(placed, WRITE, DISCARD))
        assert Counter(keys(entries, WRITE, DISCARD)) == wanted


@pytest.mark.long_but_first
@pytest.mark.parametrize("how", ["wrapped", "scaled"])
def test_a_trace_that_is_larger_has_a_place(how, device, tmp_path):
    """By 64 GiB, on a device of 4 MiB: 1009 places for I/Os of 64 KiB at most."""
    trace = recorded(tmp_path, mean_gap_ns=MS_NS / 2)
    trace["offset"] = np.arange(len(trace)) * (64 << 30) // len(trace) // 4096 * 4096
    trace["offset"][trace["kind"] == FLUSH] = 0
    write(tmp_path / "web.iotrace", [trace])
    end_bytes = int((trace["offset"] + trace["size"]).max())
    made = device()
    record_of(run(made, tmp_path, f"run replay web, offsets {how}"))
    here, units = (4 << 20) // 4096 - 16 + 1, trace["offset"] // 4096
    placed = trace.copy()
    placed["offset"] = 4096 * (
        units % here if how == "wrapped" else units * here // (end_bytes // 4096 + 1)
    )
    wanted, found = (Counter(keys(ios, WRITE, DISCARD)) for ios in (placed, seen(made)))
    assert found == wanted
    assert max(offset for _, offset, _ in wanted) > 3 << 20


@pytest.mark.long_but_first
@pytest.mark.parametrize("speed", [4, 1])
@pytest.mark.promise("traces.latency")
def test_it_arrives_when_it_was_recorded(speed, device, tmp_path):
    """A busy machine makes I/Os late, and the engine says of how many: all through the
    run some are on time, which at a speed that is 2 % off they would not be."""
    trace, made = recorded(tmp_path, mean_gap_ns=2 * MS_NS * speed), device()
    record = record_of(run(made, tmp_path, f"run replay web, speed {speed}"))
    late_ns = lateness_ns(trace, seen(made), speed)
    parts = np.array_split(late_ns, 6)
    assert max(part.min() for part in parts) < 10 * MS_NS
    told = record["backend"]["facts"]["lateness"]["main"]
    assert told["within_1ms"] > (late_ns < MS_NS).mean() - 0.1
    assert told["p50_ns"] < np.median(late_ns) + MS_NS
    span_ns = int(trace["time_ns"][-1]) / speed
    last_ns = max(late_ns.max(), lateness_ns(trace, seen(made), speed, READ).max())
    off_ns = abs(record["run_s"] * 1e9 - span_ns)
    assert off_ns < 0.02 * span_ns + 2 * last_ns


def lateness_ns(trace, entries, speed, kind=WRITE, when="arrived_ns"):
    """Of each place's last I/O of a kind, in the order of the trace, until it arrived
    or was done; the least lateness of an arrival is 0."""
    asked, some = trace[trace["kind"] == kind], entries[entries["kind"] == kind]
    last = dict(zip(keys(some, kind), some, strict=True))
    due = dict(zip(keys(asked, kind), asked["time_ns"] / speed, strict=True))
    first_ns = min(float(last[key]["arrived_ns"]) - at_ns for key, at_ns in due.items())
    return np.array(
        [float(last[k][when]) - at_ns - first_ns for k, at_ns in due.items()]
    )


@pytest.mark.long_but_first
@pytest.mark.parametrize("qd", [8, 256])
@pytest.mark.promise("traces.latency")
def test_what_a_stall_delays_counts_from_its_recorded_time(qd, device, tmp_path):
    """One I/O each 2 ms for 2 s, and a device that stalls for 1 s: half of them wait,
    from 1 s down to none, whatever the queue depth. Beyond the queue depth they arrive
    late, as a busy machine makes some of the others; the device knows how late."""
    trace = np.zeros(1000, DTYPE)
    trace["time_ns"] = np.arange(1000) * 2 * MS_NS
    trace["size"], trace["offset"] = 4096, np.arange(1000) * 4096
    write(tmp_path / "web.iotrace", [trace])
    made = device(stall=[{"at": "500ms", "length": "1s"}])
    record = record_of(run(made, tmp_path, f"run replay web, qd {qd}"))
    read = record["directions"]["read"]
    points = {p["percent"]: p["latency_ns"] for p in read["latency"]["percentiles"]}
    done_s = lateness_ns(trace, seen(made), 1, READ, "done_ns") / 1e9
    assert read["ios"] == 1000
    assert done_s.mean() > 0.23
    assert read["latency"]["mean_ns"] / 1e9 == pytest.approx(done_s.mean(), abs=0.02)
    for percent in (90, 95):
        latency_s = np.percentile(done_s, percent)
        assert points[percent] / 1e9 == pytest.approx(latency_s, abs=0.03)
    late = record["backend"]["facts"]["lateness"]["main"]
    share = (lateness_ns(trace, seen(made), 1, READ) > MS_NS).mean()
    assert share > (500 - qd) / 1000 - 0.06
    assert 1 - late["within_1ms"] == pytest.approx(share, abs=0.15)


# after completions


def written(folder):
    """Writes, each at a place of its own, of which those that overlap vary; the
    completion of each twentieth is not known."""
    random, count = np.random.default_rng(3), 400
    made = np.zeros(count, ANSWERED)
    made["time_ns"] = np.cumsum(random.exponential(0.5 * MS_NS, count)).astype("u8")
    made["time_ns"] -= made["time_ns"][0]
    made["response_ns"] = random.gamma(2, 1.5 * MS_NS, count).astype("u8")
    made["response_ns"][::20] = NO_RESPONSE
    made["kind"], made["size"] = WRITE, 4096
    made["offset"] = random.permutation(count) * 4096
    write(folder / "web.iotrace", [made])
    return made


def waited_for(trace, number):
    """Which I/Os were complete before it began, by the recording."""
    known = trace["response_ns"] != NO_RESPONSE
    ends = np.where(known, trace["time_ns"] + trace["response_ns"] * known, 2**63)
    return ends[:number] <= trace["time_ns"][number], ends


@pytest.mark.parametrize("speed", [1, 4])
@pytest.mark.usefixtures("mode")
def test_each_begins_when_what_had_completed_before_it_has(speed, device, tmp_path):
    """On a device that is slower than the recorded one: every I/O, to the nanosecond."""
    trace = written(tmp_path)
    made = device(latency=[{"direction": "write", "value": "9ms"}])
    step = f"run replay web after completion, qd 64, speed {speed}"
    record = record_of(run(made, tmp_path, step))
    entries = seen(made)
    some = entries[entries["kind"] == WRITE]
    order = np.argsort(trace["offset"])
    assert sorted(some["offset"].tolist()) == trace["offset"][order].tolist()
    arrived, done = (np.zeros(len(trace), np.int64) for _ in range(2))
    by_place = np.argsort(some["offset"])
    arrived[order] = some["arrived_ns"][by_place]
    done[order] = some["done_ns"][by_place]
    chained = 0
    for number in range(len(trace)):
        before, ends = waited_for(trace, number)
        if before.any():
            thought_ns = trace["time_ns"][number] - ends[:number][before].max()
            last_ns = done[:number][before].max()
            assert arrived[number] >= last_ns + thought_ns / speed - 1
            chained += 1
    assert chained > 380
    assert (arrived[1:] < done[:-1]).sum() > 200  # those that overlapped do so again
    late = record["backend"]["facts"]["lateness"]["main"]
    begins = [waited_for(trace, n)[0].sum() for n in range(len(trace))]
    assert late["waited"] == pytest.approx((np.diff(begins) > 0).sum() / len(trace))
    assert record["run_s"] > 2 * int(trace["time_ns"][-1]) / speed / 1e9
