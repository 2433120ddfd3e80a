"""Some of a trace, as fast as possible, or by fio, by what arrived at a test device."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from recorded import keys, record_of, recorded, run

from ioplan.language import check_file
from ioplan.planner import Run, unfold
from ioplan.trace import DISCARD, DTYPE, FLUSH, READ, WRITE, write
from ioplan.workload import Hotspots
from ioplan_witness import seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]

MS_NS = 1_000_000
CHANGES = (WRITE, DISCARD)


def chosen(trace, *kinds):
    return trace[np.isin(trace["kind"], kinds)]


def as_reads(trace):
    made = trace.copy()
    made["kind"], made["flags"] = READ, 0
    return made


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("only reads", lambda trace: chosen(trace, READ)),
        ("only writes", lambda trace: chosen(trace, WRITE)),
        ("writes as reads", lambda trace: as_reads(chosen(trace, READ, WRITE))),
        ("only writes, writes as reads", lambda trace: as_reads(chosen(trace, WRITE))),
    ],
)
@pytest.mark.promise("traces.nothing_changes")
def test_what_is_chosen_arrives_and_nothing_else_changes_the_device(
    mode, clause, meant, device, tmp_path
):
    wanted = meant(recorded(tmp_path, mean_gap_ns=MS_NS / 4))
    made = device()
    record = record_of(run(made, tmp_path, f"run replay web, {clause}"))
    entries = seen(made)
    told = {name: one["ios"] for name, one in record["directions"].items()}
    assert Counter(keys(entries, *CHANGES)) == Counter(keys(wanted, *CHANGES))
    assert not Counter(keys(wanted, READ)) - Counter(keys(entries, READ))
    assert sum(told.values()) == len(wanted)
    assert record["backend"]["facts"]["lateness"]["main"]["ios"] == len(wanted)
    assert entries["fua"].sum() == wanted["flags"].sum()


@pytest.mark.long_but_first
@pytest.mark.parametrize("qd", [1, 8])
def test_as_fast_as_possible_keeps_the_order_and_the_depth(qd, device, tmp_path):
    """By a device that takes 1 ms for each write: one after the other, or eight."""
    trace = recorded(tmp_path, ios=300, mean_gap_ns=20 * MS_NS, kinds=(0, 1, 0, 0))
    trace_s = int(trace["time_ns"][-1]) / 1e9
    made = device(latency=[{"direction": "write", "value": "1ms"}])
    step = f"run replay web as fast as possible, qd {qd}"
    record = record_of(run(made, tmp_path, step))
    entries = seen(made)
    some = entries[entries["kind"] == WRITE]
    arrived, wanted = keys(some, WRITE), keys(trace, WRITE)
    assert Counter(arrived) == Counter(wanted)
    assert record["run_s"] < trace_s / 4
    assert most_at_once(some) == qd
    assert "lateness" not in record["backend"]["facts"]
    furthest = max(furthest_moved(wanted, arrived))
    assert furthest == 0 if qd == 1 else furthest < 2 * qd


def most_at_once(entries):
    starts = [(int(at), 1) for at in entries["arrived_ns"]]
    ends = [(int(at), -1) for at in entries["done_ns"]]
    now = most = 0
    for _, step in sorted(starts + ends, key=lambda one: (one[0], one[1])):
        now += step
        most = max(most, now)
    return most


def furthest_moved(wanted, arrived):
    """How far each is from its place in the recorded order."""
    places: dict[Any, list[int]] = {}
    for number, key in enumerate(wanted):
        places.setdefault(key, []).append(number)
    return [abs(n - places[key].pop(0)) for n, key in enumerate(arrived)]


# what a trace touches, written before it

WRITTEN = """
trace web = "web.iotrace"
precondition written { write footprint of web }
test "A" { after written run replay web, only reads }
"""


def test_what_it_reads_or_writes_was_written_before_and_nothing_else(device, tmp_path):
    trace, made = recorded(tmp_path, mean_gap_ns=MS_NS / 4), device()
    target = ("--target", made.disk, "--overwrite-data", made.disk)
    words = (*target, "--backend", "io_uring", "--json")
    done = ioplan("run", plan_file(tmp_path, WRITTEN), *words)
    assert [one["status"] for one in done.records] == ["ok", "ok"]
    assert done.records[0]["directions"]["write"]["ios"] > 0
    touched, written = np.zeros(1024, int), np.zeros(1024, int)
    for io in trace[np.isin(trace["kind"], (READ, WRITE))]:
        touched[blocks(io)] = 1
    entries = seen(made)
    for io in entries[entries["kind"] == WRITE]:
        written[blocks(io)] += 1
    assert (written == touched).all() and 100 < touched.sum() < 1024


def blocks(io):
    start = int(io["offset"]) // 4096
    return slice(start, start + int(io["size"]) // 4096)


# by fio: refused as such, and with --allow what arrives is still the trace

KINDS = (0.55, 0.4, 0.05, 0.0)


@NEEDS_FIO
def test_it_is_refused_with_the_reason(device, tmp_path):
    recorded(tmp_path, kinds=KINDS)
    done = run(device(), tmp_path, "run replay web", "fio")
    assert done.code == 2
    assert "fio waits from its last issue, so that errors add up" in done.err
    assert "with --allow replay: read_iolog: late" in done.err
    after = run(device(), tmp_path, "run replay web as fast as possible", "fio")
    assert after.code == 2 and "its log has no FUA" in after.err
    allowed = ("--allow", "replay")  # what it does nothing for stays refused
    text, std = "run replay std after completion", "std/answered.iotrace"
    waits = run(device(), tmp_path, text, "fio", *allowed, std=std)
    assert waits.code == 2 and "does not wait for completions of a trace" in waits.err


@NEEDS_FIO
@pytest.mark.long_but_first
@pytest.mark.parametrize("engine", ["libaio", "psync"])
def test_what_is_allowed_arrives_and_its_faults_are_in_the_record(
    engine, device, tmp_path
):
    """Lateness by the device's own times of arrival; all I/Os counted, FUA told."""
    trace = recorded(tmp_path, kinds=KINDS)
    made = device()
    qd = ", qd 1" if engine == "psync" else ", region 50%..100%"
    words = ("--allow", "replay", "--option", f"engine={engine}")
    done = run(made, tmp_path, f"run replay web{qd}", "fio", *words)
    record = record_of(done)
    entries = seen(made)
    placed = trace.copy()
    placed["offset"] += 0 if engine == "psync" else 2 << 20
    assert Counter(keys(entries, WRITE)) == Counter(keys(placed, WRITE))
    assert not Counter(keys(placed, 0)) - Counter(keys(entries, 0))
    told = {name: one["ios"] for name, one in record["directions"].items()}
    kinds = np.bincount(trace["kind"], minlength=4)
    assert [told["read"], told["write"], told["flush"]] == kinds[:3].tolist()
    assert "read_iolog: late" in record["substitutions"][0]
    (told_fua,) = [one for one in record["warnings"] if "FUA" in one]
    assert told_fua.startswith(f"{trace['flags'].sum()} I/Os of the trace of main")
    late = record["backend"]["facts"]["lateness"]["main"]
    assert late["ios"] == (trace["kind"] != FLUSH).sum()
    writes = entries[entries["kind"] == WRITE]
    intended = trace["time_ns"][trace["kind"] == WRITE].astype(np.int64)
    drift = (writes["arrived_ns"][-1] - writes["arrived_ns"][0]).astype(np.int64)
    drift -= intended[-1] - intended[0]
    # the first write is not the first I/O, and may have been late itself
    assert drift <= late["max_ns"] + 5 * MS_NS
    assert late["max_ns"] >= late["p99_ns"] >= late["p50_ns"] >= 0


@NEEDS_FIO
@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("replay web 200ms..600ms", lambda t: part(t, 200, 600)),
        ("replay web, only writes", lambda t: t),
        ("replay web, speed 4", lambda t: t),
        ("replay web as fast as possible", lambda t: t),
    ],
)
def test_what_is_said_of_a_replay_is_done(clause, meant, device, tmp_path):
    wanted = meant(recorded(tmp_path, kinds=KINDS))
    made = device()
    words = ("--allow", "replay", "--option", "engine=libaio")
    record = record_of(run(made, tmp_path, f"run {clause}, qd 8", "fio", *words))
    assert Counter(keys(seen(made), WRITE)) == Counter(keys(wanted, WRITE))
    kinds = (WRITE,) if "only" in clause else (0, WRITE)
    assert record["total"]["ios"] == np.isin(wanted["kind"], kinds).sum()
    assert ("lateness" in record["backend"]["facts"]) == ("fast" not in clause)


def part(trace, from_ms, to_ms):
    times = trace["time_ns"]
    return trace[(times >= from_ms * MS_NS) & (times < to_ms * MS_NS)]


# what a model's run issues is what its trace has

COUNT, SECOND, BLOCK = 3_000, 10**9, 4096


def drawn():
    """Reads of 4 and 16 KiB, and 30 % writes of 8 KiB; every second I/O continues the
    one before it of its direction; half of the others are in the first fifth."""
    random = np.random.default_rng(5)
    made = np.zeros(COUNT, DTYPE)
    times = np.cumsum(random.exponential(SECOND / 1_000, COUNT)).astype("u8")
    made["time_ns"] = times - times[0]
    made["kind"] = np.where(random.random(COUNT) < 0.3, WRITE, READ)
    made["size"] = (
        np.where(made["kind"] == WRITE, 2, random.choice([1, 4], COUNT)) * BLOCK
    )
    hot = random.random(COUNT) < 0.5
    made["offset"] = (
        np.where(
            hot, random.integers(0, 1600, COUNT), random.integers(1600, 8000, COUNT)
        )
        * BLOCK
    )
    for kind in (READ, WRITE):
        own = np.flatnonzero(made["kind"] == kind)
        for before, after in zip(own[::2], own[1::2], strict=False):
            made["offset"][after] = made["offset"][before] + made["size"][before]
    return made


def modelled(path, ios):
    """The stream of the model of a trace."""
    write(path, [ios])
    plan = path.with_suffix(".ioplan")
    assert ioplan("model", str(path), "-o", str(plan)).code == 0
    (step,) = unfold(check_file(plan))
    assert isinstance(step, Run)
    (stream,) = step.workload.streams
    return stream


def issued(device):
    """What arrived in the run: its writes, and the reads between them."""
    entries = seen(device)
    writes = np.flatnonzero(entries["kind"] == WRITE)
    entries = entries[writes[0] : writes[-1] + 1]
    made = np.zeros(len(entries), DTYPE)
    made["time_ns"] = entries["arrived_ns"] - entries["arrived_ns"][0]
    for field in ("kind", "offset", "size"):
        made[field] = entries[field]
    return made


@pytest.mark.long
def test_a_models_run_has_the_load_of_its_trace(device, tmp_path):
    asked, plan = (
        modelled(tmp_path / "web.iotrace", drawn()),
        tmp_path / "web.ioplan",
    )
    made = device(size="32MiB")
    target = ("--target", made.disk, "--overwrite-data", made.disk)
    done = ioplan("run", str(plan), *target, "--backend", "io_uring", "--json")
    assert done.record["status"] == "ok", (done.err, plan.read_text())
    found = modelled(tmp_path / "issued.iotrace", issued(made))
    assert asked.rate and found.rate and asked.rate.iops and found.rate.iops
    assert found.rate.iops == pytest.approx(asked.rate.iops, rel=0.06)
    assert found.read_percent == pytest.approx(asked.read_percent, abs=4)
    assert found.random_percent == pytest.approx(asked.random_percent, abs=6)
    for sizes, others in (
        (found.read_sizes, asked.read_sizes),
        (found.write_sizes, asked.write_sizes),
    ):
        shares = {one.size_bytes: one.percent for one in sizes}
        assert shares == pytest.approx({o.size_bytes: o.percent for o in others}, abs=5)
    assert hot_percent(found) == pytest.approx(50, abs=5)


def hot_percent(stream):
    """Of the random I/Os, the share in the first fifth of the space."""
    assert isinstance(stream.distribution, Hotspots)
    end_percent, found = 0.0, 0.0
    for spot in stream.distribution.spots:
        end_percent += spot.space_percent
        found += spot.io_percent * (end_percent <= 21)
    return found
