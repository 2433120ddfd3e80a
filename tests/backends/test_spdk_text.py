"""bdevperf's text and replies, as recorded and as garbage; what a host has for it."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spdk_jobs import RECORDINGS, job

from ioplan.results.measure import CountsBuilder, bucket_index, no_bins
from ioplan_spdk.bdevperf.device_statistics import MixedHistogram, counters
from ioplan_spdk.bdevperf.exits import why
from ioplan_spdk.bdevperf.outcome import UnsoundTest, checked_outcome
from ioplan_spdk.bdevperf.script import script_of
from ioplan_spdk.bdevperf.ticks import (
    apportioned,
    dense,
    mean_ns,
    printed,
    printed_jobs,
    shaped,
    within,
)
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.polled_cpus import free_first, polled_cpus, shared_warning
from ioplan_spdk.program import no_hugepages
from ioplan_spdk.rpc.client import BadReply

RATE = 2_600_000_000
NAMES = [name for name, one in RECORDINGS.items() if "stderr" in one.input]


def entries(name, method):
    for entry in RECORDINGS[name].input.get("rpc", ()):
        if entry.get("method") == method:
            yield entry


@pytest.mark.parametrize("name", NAMES)
def test_every_transcript_is_survived(name):
    recorded = RECORDINGS[name].input
    printed_text = recorded.get("stdout", "")
    told = why(recorded.get("code"), recorded["stderr"] + printed_text)
    assert told and "\n" not in told
    for jobs in printed_jobs(printed_text):
        for one in jobs:
            assert printed(one.buckets, RATE).sum() == sum(n for *_, n in one.buckets)
    for entry in entries(name, "perform_tests"):
        judge(entry)
    for entry in entries(name, "bdev_get_iostat"):
        device = (entry.get("params") or {}).get("name", "")
        take(lambda e=entry, n=device: counters(e.get("result"), n, "read"))
    for entry in entries(name, "bdev_get_histogram"):
        take(lambda e=entry: dense(e.get("result")))


def judge(entry):
    asked = {"time_in_sec": 1, **(entry.get("params") or {})}
    take(lambda: checked_outcome(entry.get("result"), asked, ended=False))


def take(read):
    try:
        read()
    except (BadReply, UnsoundTest) as error:
        assert str(error)


ASKED = {"queue_depth": 4, "io_size": "4096", "time_in_sec": 1, "workload_type": "rw"}


@given(st.text())
def test_no_text_breaks_the_parser(garbage):
    printed_jobs(garbage)
    printed_jobs(f"Running I/O for 1 seconds...\nLatency summary\n{garbage}")
    why(None, garbage)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = ["results", "iops", "runtime", "io_failed"]
KEYS += ["bdevs", "name", "tick_rate", "histogram"]


@given(JSON | st.dictionaries(st.sampled_from(KEYS), JSON))
def test_no_reply_breaks_the_readers(reply):
    take(lambda: checked_outcome(reply, ASKED, ended=False))
    take(lambda: counters(reply, "x", "read"))
    take(lambda: dense(reply))


@given(
    st.dictionaries(st.integers(0, 5000), st.integers(1, 10**9), min_size=1),
    st.integers(1, 10**9),
)
def test_a_shape_keeps_count_and_mean(counts, ios):
    shape = no_bins()
    for bucket, count in counts.items():
        shape[bucket] = count
    assert apportioned(shape, ios).sum() == ios
    found = shaped(shape, ios, 1e6)
    assert found.sum() == ios
    inside = within(found, 10_000, 20_000)
    assert inside.sum() == ios
    assert inside[: bucket_index(10_000)].sum() == 0


def test_hugepages(tmp_path):
    meminfo, mounts = tmp_path / "meminfo", tmp_path / "mounts"
    meminfo.write_text("HugePages_Total:       0\n")
    mounts.write_text("proc /proc proc rw 0 0\n")
    assert "vm.nr_hugepages" in no_hugepages(meminfo, mounts)
    meminfo.write_text("HugePages_Total:     512\n")
    assert "no hugetlbfs is mounted" in no_hugepages(meminfo, mounts)
    mounts.write_text("none /dev/hugepages hugetlbfs rw 0 0\n")
    assert no_hugepages(meminfo, mounts) == ""


def process(proc, pid, names, state="R", parent=1):
    """A process with threads of these names, each on CPU 0 and up."""
    folder = proc / str(pid)
    for number, name in enumerate(names):
        task = folder / "task" / str(pid + number)
        task.mkdir(parents=True)
        (task / "comm").write_text(f"{name}\n")
        (task / "status").write_text(f"Cpus_allowed_list:\t{number}\n")
    (folder / "comm").write_text(f"{names[0]}\n")
    (folder / "status").write_text(f"State:\t{state} (x)\nPPid:\t{parent}\n")
    (folder / "environ").write_bytes(b"LD_PRELOAD=/x/spdk_bdev\0")
    return folder


def test_what_another_spdk_polls(tmp_path):
    process(tmp_path, 100, ["reactor_3", "reactor_5", "rte_intr"])
    process(tmp_path, 200, ["fio", "fio"])
    process(tmp_path, 300, ["reactor_6"], state="T")
    process(tmp_path, 400, ["reactor_7"], parent=os.getpid())
    process(tmp_path, 500, ["bash"])
    (process(tmp_path, 600, ["fio"]) / "environ").write_bytes(b"")
    (tmp_path / "700").mkdir()  # it has just ended
    polled = polled_cpus(tmp_path)
    assert {cpu: who.split()[1] for cpu, who in polled.items()} == {
        3: "100", 5: "100", 0: "200", 1: "200"
    }  # fmt: skip
    assert free_first((5, 4, 3, 2), polled) == (4, 2, 5, 3)
    assert shared_warning((4, 2), polled) == ""
    assert "process 100 polls CPU 5" in shared_warning((4, 5), polled)


def test_a_histogram_that_was_switched_late_keeps_the_exact_mean():
    """Then it has much of the other direction, which is taken out as well as can be."""
    script = script_of(job(read_percent=50, read_only=False), SpdkOptions())
    mixed = MixedHistogram(None, script)
    reads, writes = no_bins(), no_bins()
    reads[bucket_index(10_000)] = writes[bucket_index(20_000)] = 1000
    above = reads.copy()
    above[bucket_index(20_300)] += 1000  # each takes longer above the layer
    mixed._others = writes
    own = mixed.own(above, CountsBuilder(ios=1000, sum_ns=10_000_000))
    assert int(own.sum()) == 1000 and mixed.foreign_ios == 1000
    assert mean_ns(own) == pytest.approx(10_000, rel=0.01)
    assert "started late" in mixed.warning(1000) and mixed.warning(100_000) == ""
