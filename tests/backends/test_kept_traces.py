"""The option `traces` of io_uring: what a run did, kept as a trace."""

import json
import resource

import numpy as np
import pytest
from command import ioplan, plan_file
from without_io_uring import engine_without_io_uring

from ioplan.trace import DTYPE, FLUSH, READ, WRITE, Prepared, write
from ioplan_witness import gamma_below, ks_distance
from targets import needs_root, tmpfs

pytestmark = pytest.mark.slow
MIB = 1 << 20


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kept"


def run(text, folder, *more):
    """A run on a scratch file, which keeps its traces."""
    words = ("--target", folder.parent / "scratch.bin", "--create", "16MiB", "--json")
    path = plan_file(folder.parent, text)
    return ioplan("run", path, *words, "--option", f"traces={folder}", *more)


def kept(folder, number=1):
    """Of that run; nothing else is left there."""
    assert not list(folder.glob("*.thread*")) and not list(folder.glob(".*"))
    return Prepared.open(folder / f"run-{number:04}.iotrace")


def test_all_that_a_run_did_is_in_it(folder, store_path):
    """Counts by direction and bytes as the result says, in a part of the target."""
    text = """workload both {
      a = random 4KiB 70/30, threads 2, qd 4 each, sync every 16, region 0%..50%
      b = sequential sizes { 8KiB 50%, 16KiB 50% } 0/100, fua, qd 1, region 50%..100%
    }
    test "T" { run both for 300ms, warmup 100ms }"""
    done = run(text, folder)
    record = done.record
    streams = {one["name"]: one for one in record["streams"]}
    trace = kept(folder)
    assert record["backend"]["facts"]["trace"] == trace.path.name
    ios = trace.ios
    own = {"a": ios[ios["source"] < 2], "b": ios[ios["source"] == 2]}
    for name, found in own.items():
        counts = streams[name]["directions"]
        for kind, direction in ((READ, "read"), (WRITE, "write")):
            done_ios = counts.get(direction, {}).get("ios", 0)
            asked = int((found["kind"] == kind).sum())
            assert done_ios <= asked <= done_ios + 8  # those under way at the end
    assert set(own["b"]["flags"]) == {1} and not own["a"]["flags"].any()
    data = own["a"][own["a"]["kind"] != FLUSH]
    assert (data["offset"] + data["size"]).max() <= 8 * MIB
    assert own["b"]["offset"].min() >= 8 * MIB
    assert (own["a"]["kind"] == FLUSH).any()
    assert (
        ios["time_ns"][0] == 0 and (np.diff(ios["time_ns"].astype(np.int64)) >= 0).all()
    )
    assert trace.header.span_ns < 350e6  # the warm-up is not in it


def test_a_replay_that_is_kept_is_the_trace(folder, store_path):
    """Each I/O with the time that it was intended for, to the nanosecond."""
    rng = np.random.default_rng(1)
    rows = np.zeros(2000, DTYPE)
    rows["time_ns"] = np.cumsum(rng.integers(0, 200_000, len(rows)))
    rows["time_ns"] -= rows["time_ns"][0]
    rows["offset"] = rng.integers(0, 4000, len(rows)) * 4096
    rows["size"], rows["kind"] = 4096, rng.integers(0, 2, len(rows))
    write(folder.parent / "t.iotrace", [rows])
    text = 'trace t = "t.iotrace" test "T" { run replay t }'
    done = run(text, folder)
    assert done.code == 0, done.err
    ios = kept(folder).ios
    assert all((ios[name] == rows[name]).all() for name in DTYPE.names or ())
    assert (ios["response_ns"] < 10**10).all()


@pytest.mark.parametrize("mode", ["io_uring", "sync"])
def test_it_says_how_long_each_took(folder, mode, store_path, monkeypatch):
    """The mean is that of the result; and the trace can be replayed after completion."""
    text = 'test "T" { run random 4KiB 70/30, threads 2, qd 4 each, 1 pass }'
    if mode == "sync":
        engine = engine_without_io_uring(folder.parent)
        monkeypatch.setenv("IOPLAN_ENGINE", engine)
    done = run(text, folder)
    record = done.record
    assert record["backend"]["mode"] == mode
    found = record["streams"][0]["directions"]
    ios = kept(folder).ios
    for kind, direction in ((READ, "read"), (WRITE, "write")):
        took = ios["response_ns"][ios["kind"] == kind].astype(np.float64)
        mean = found[direction]["latency"]["mean_ns"]
        assert len(took) == found[direction]["ios"]
        assert took.mean() == pytest.approx(mean, rel=1e-6)
    text = (
        'trace t = "kept/run-0001.iotrace" test "T" { run replay t after completion }'
    )
    before_s = cpu_of_engines_s()
    assert run(text, folder).code == 0
    # of 256 threads those that wait for others do not look all the time: that took 12 s
    assert cpu_of_engines_s() - before_s < 4


def cpu_of_engines_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("variation", [0.5, 1.33])
@pytest.mark.long
def test_intended_starts_have_gamma_gaps(variation, folder, store_path):
    """Of several threads together; and the same in the next run, as of one seed."""
    text = f"""test "T" {{
      run random 4KiB 100/0, threads 3, qd 8 each, rate 8_000 iops total gamma {variation}
        for 1s
    }}"""
    starts = []
    for number in (1, 2):
        done = run(text, folder)
        record = done.record
        left = record["streams"][0]["backlog_ios"]
        count = kept(folder, number).header.count + left
        assert count == pytest.approx(8000, abs=5 * variation * 8000**0.5)
        starts.append(whole(kept(folder, number).ios))
    count = min(map(len, starts))
    assert count > 1000  # a busy machine issues fewer
    assert np.abs(starts[0][:count] - starts[1][:count]).max() <= 3
    gaps = np.diff(starts[0]) / 125_000
    assert gaps.std() == pytest.approx(variation, rel=0.12)
    assert ks_distance(gaps, gamma_below(variation), 0.001) < 2.2


def whole(ios):
    """The starts until the first of the three threads had no more time for its next."""
    last = [ios["time_ns"][ios["source"] == thread].max() for thread in range(3)]
    return ios["time_ns"][ios["time_ns"] <= min(last)].astype(np.float64)


def test_a_folder_that_cannot_be_made(folder, store_path):
    folder.write_text("a file")
    done = run('test "T" { run random 4KiB 100/0 for 1MiB }', folder)
    assert done.code != 0 and f"no traces in {folder}" in done.out + done.err
    assert "Traceback" not in done.err


@needs_root
def test_a_trace_that_is_not_whole_is_none(folder, store_path):
    """The disk is full: the run has failed, and says why; nothing is left."""
    with tmpfs(folder, "64k"):
        text = 'test "T" { run random 4KiB 100/0, qd 4, 3 passes }'
        done = run(text, folder)
        told = json.dumps(done.lines) + done.err
        assert done.code == 3 and "could not be kept" in told, told
        assert list(folder.iterdir()) == []


def test_several_targets_are_no_trace(folder, store_path):
    text = 'test "T" { run random 4KiB 100/0, qd 4 over all for 1MiB }'
    done = run(text, folder, "--target", str(folder.parent / "other.bin"))
    assert done.code != 0 and "one trace is of one target" in done.out + done.err
