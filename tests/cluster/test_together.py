"""Adding up what hosts did together, and how well they began: no host is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ioplan import JobStream, TargetFault
from ioplan.backends import TargetFacts
from ioplan.job import Counts, Job, Progress, Result, StreamCounts
from ioplan.workload import SizeShare
from ioplan_lab.cluster.sync.backend import HostTarget, common_facts
from ioplan_lab.cluster.sync.coordinator import hosts_of, job_of_host, region_gaps
from ioplan_lab.cluster.sync.merge import IntervalMerger, sum_counts, sum_results
from ioplan_lab.cluster.sync.messages import read_messages
from ioplan_lab.cluster.sync.start_skew import (
    Offset,
    Start,
    is_known,
    least_uncertain,
    offset_of,
    skew_of,
    skew_warning,
)

MS_NS = 1_000_000
SIZES = (SizeShare(size_bytes=4096, percent=100),)


def stream(name: str, *hosts: str, **said: object) -> JobStream:
    same = {"pattern": "random", "read_percent": 100, "region_start_bytes": 0}
    sizes = {"read_sizes": SIZES, "write_sizes": SIZES, "region_end_bytes": 1 << 20}
    told = {"name": name, "hosts": hosts, **same, **sizes, **said}
    return JobStream.model_validate(told)


def job(*streams: JobStream, **said: object) -> Job:
    same = {"target": "t", "capacity_bytes": 1 << 20, "block_bytes": 512}
    return Job.model_validate(
        {"streams": streams, "run_ns": 100 * MS_NS, "interval_ns": 10 * MS_NS, **same}
        | said
    )


BINS = st.dictionaries(st.integers(0, 4000), st.integers(1, 10**12), max_size=30)


def counts(bins: dict[int, int]) -> Counts:
    """As a backend would count I/Os of these bins."""
    ios = sum(bins.values())
    flat = tuple(number for index in sorted(bins) for number in (index, bins[index]))
    low, high = (min(bins), max(bins)) if bins else (0, 0)
    each = {"ios": ios, "bytes": 4096 * ios, "min_ns": low, "max_ns": high}
    return Counts(bins=flat, sum_ns=sum(i * n for i, n in bins.items()), **each)


@given(st.lists(BINS, min_size=1, max_size=4))
def test_merging_is_addition(parts: list[dict[int, int]]) -> None:
    """As if one backend had counted all of it, to the last one."""
    all_of: dict[int, int] = {}
    for part in parts:
        for index, count in part.items():
            all_of[index] = all_of.get(index, 0) + count
    assert sum_counts([counts(part) for part in parts]) == counts(all_of)


def progress(t_ns: int, ios: int, warmup: bool = False) -> Progress:
    one = StreamCounts(name="s", directions={"read": Counts(ios=ios)})
    return Progress(t_ns=t_ns, interval_ns=10 * MS_NS, warmup=warmup, streams=(one,))


def test_an_interval_is_told_when_all_hosts_have_told_theirs() -> None:
    series = IntervalMerger(job(stream("s", "a", "b")), ("a", "b"))
    told = [
        *series.add("a", progress(5 * MS_NS, 9, warmup=True)),
        *series.add("b", progress(10 * MS_NS, 1)),
        *series.add("b", progress(20 * MS_NS, 2)),
        *series.add("a", progress(11 * MS_NS, 10)),
        *series.add("a", progress(31 * MS_NS, 40)),  # it has left one out
        *series.add("b", progress(29 * MS_NS, 4)),
        *series.rest(),
    ]
    ios = [one.streams[0].directions["read"].ios for one in told]
    assert ios == [9, 11, 2, 44]
    assert [one.warmup for one in told] == [True, False, False, False]
    assert [one.t_ns // MS_NS for one in told] == [5, 11, 20, 31]
    assert sum(one.interval_ns for one in told[1:]) == told[-1].t_ns


def test_a_host_whose_streams_end_early_is_not_waited_for() -> None:
    """Or a sound run would be silent until its end."""
    series = IntervalMerger(job(stream("s", "a", "b")), ("a", "b"))
    told = [
        *series.add("a", progress(10 * MS_NS, 1)),
        *series.add("b", progress(10 * MS_NS, 2)),
        *series.end("a"),
        *series.add("b", progress(20 * MS_NS, 4)),
    ]
    assert [one.streams[0].directions["read"].ios for one in told] == [3, 4]
    assert list(series.rest()) == []


def timed(one: StreamCounts, run_ns: int) -> StreamCounts:
    return one.model_copy(update={"run_ns": run_ns})


def test_a_short_last_interval_is_awaited_from_all() -> None:
    """A run of 23 ms, told each 10 ms: its end is no more the second than the third."""
    series = IntervalMerger(job(stream("s", "a", "b")), ("a", "b"))
    ends = [(10, 10), (20, 10), (23, 3)]
    told = []
    for host, more_ns in (("a", 0), ("b", 50_000)):
        for t_ms, length_ms in ends:
            one = progress(t_ms * MS_NS + more_ns, length_ms)
            one = one.model_copy(update={"interval_ns": length_ms * MS_NS})
            told += series.add(host, one)
    told += series.rest()
    rates = [s.streams[0].directions["read"].ios / s.interval_ns for s in told]
    assert rates == pytest.approx([2 / MS_NS] * 3, rel=0.02)


def test_results_are_added_over_the_longest_time() -> None:
    named = {n: StreamCounts(name=n, directions={"read": Counts(ios=3)}) for n in "xy"}
    found = sum_results(
        job(stream("x", "a", "b"), stream("y", "b")),
        [
            Result(run_ns=100, streams=(timed(named["x"], 90),)),
            Result(run_ns=110, streams=(timed(named["x"], 100), named["y"])),
        ],
    )
    assert [s.directions["read"].ios for s in found.streams] == [6, 3]
    assert found.run_ns == 110 and not found.stopped
    assert [one.run_ns for one in found.streams] == [100, None]


def test_each_host_has_its_part_and_other_places() -> None:
    whole = job(
        stream("r", "a", "b"), stream("w", "b", "c", pattern="sequential"), stream("l")
    )
    assert hosts_of(whole, "d") == ["a", "b", "c", "d"]
    parts = {host: job_of_host(whole, host, "d") for host in "abcd"}
    names = {host: [s.name for s in part.streams] for host, part in parts.items()}
    assert names == {"a": ["r"], "b": ["r", "w"], "c": ["w"], "d": ["l"]}
    assert len({part.seed for part in parts.values()}) == 4
    begins = [parts["b"].streams[1], parts["c"].streams[0]]
    assert [s.region_end_bytes for s in begins] == [1 << 19, 1 << 20]
    assert begins[1].region_start_bytes == 1 << 19


def test_a_region_that_cannot_be_shared_out_is_a_gap() -> None:
    """fio would take a part of no bytes for all of the target."""
    small = {"pattern": "sequential", "region_end_bytes": 4096}
    part = job_of_host(job(stream("s", "a", "b", **small)), "a", "a")
    assert [(gap.stream, gap.field) for gap in region_gaps(part)] == [("s", "region")]
    assert region_gaps(job_of_host(job(stream("s", "a", **small)), "a", "a")) == []


def test_a_clock_is_measured_as_ntp_does() -> None:
    slow, quick = offset_of(100, 1180, 160), offset_of(200, 1240, 220)
    assert slow == Offset(1050, 30)
    assert least_uncertain([slow, quick]) == quick == Offset(1030, 10)


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_clock_is_never_off_by_more_than_is_said(
    off_ns: int, there_ns: int, back_ns: int
) -> None:
    sent_ns = 10**18
    answered_ns = sent_ns + there_ns + off_ns
    found = offset_of(sent_ns, answered_ns, sent_ns + there_ns + back_ns)
    assert abs(found.offset_ns - off_ns) <= found.uncertainty_ns


def test_the_skew_is_what_is_between_the_first_and_the_last() -> None:
    starts = {
        "a": Start(10**18, 10**18 + 2 * MS_NS, Offset(5 * MS_NS, 300)),
        "b": Start(10**18 - 10**9, 10**18 - 10**9 + 14 * MS_NS, Offset(-7, 200)),
        "c": Start(10**18, 10**18 + 3 * MS_NS, Offset(0, 100)),
    }
    skew = skew_of(starts)
    assert skew == (12 * MS_NS, 500, "a", "b")
    short, long = job(stream("s")), job(stream("s"), run_ns=1201 * MS_NS)
    assert "b began 12.0 ms after a" in skew_warning(skew, short)
    assert skew_warning(skew, long) == ""


def test_a_part_that_hears_nothing_ends() -> None:
    near, far = os.pipe()
    os.write(far, b'{"do": "clock"}\n{"do":')
    assert list(read_messages(near, 0.05)) == [{"do": "clock"}]
    os.close(near)
    os.close(far)


def opened(path: str, **identity: str) -> HostTarget:
    facts = {"kind": "block", "capacity_bytes": 1 << 30, "block_bytes": 512}
    made = TargetFacts.model_validate({"path": path, "identity": identity, **facts})
    return HostTarget(made, "1", {})


def test_the_target_is_one_and_the_same_on_all_hosts() -> None:
    """Its name may differ by host, what it is may not."""
    one = opened("/dev/sda", wwid="naa.1", model="X")
    same = opened("/dev/sdb", wwid="naa.1", model="X")
    assert common_facts({"a": one, "b": same}).path == "/dev/sda on a, b"
    other = opened("/dev/sda", wwid="naa.2", model="X")
    text = r"a and b: wwid naa\.1 and naa\.2; identify it"
    with refused(TargetFault.HOSTS_DISAGREE, text):
        common_facts({"a": one, "b": other})


# ---- what is refused before anything runs

PLAN = 'test "T" { run random 4KiB 100/0, on hosts h1, h9 for 1s }'
LAB = """{scheduler}
{more}
[hosts.h1]
[hosts.h2]
[targets.own]
host = "h1"
serial = "1"
[targets.shared]
hosts = ["h1", "h2"]
serial = "2"
"""
AT = 'scheduler = "tls://10.0.0.1:8786"'
HERE = "the plan has streams on the hosts h1, h9: "
TWO = "the plan has streams on the hosts h1, h2: "


def refusal(folder: Path, plan: str, lab: str | None, *words: str) -> str:
    where: list[str | Path] = []
    if lab is not None:
        (folder / "lab.toml").write_text(lab)
        where = ["--lab", folder / "lab.toml"]
    done = ioplan("run", plan_file(folder, plan), *where, *words)
    assert done.code == 2
    return done.err


@pytest.mark.parametrize(
    ("hosts", "said", "words", "message"),
    [
        ("h1, h9", None, (), HERE + "there is no lab file; add --lab FILE"),
        (
            "h1, h9",
            {},
            (),
            "the lab has no host 'h9'; it has: h1, h2",
        ),
        ("h1, h2", {}, (), TWO + "the target is not shared by them"),
        ("h1, h2", {}, ("--target", "own"), 'lab that has hosts = ["h1", "h2"]'),
        (
            "h1, h2",
            {},
            ("--target", "shared", "--create", "1GiB"),
            "--create is for one",
        ),
        (
            "h1, h2",
            {"more": 'backend = "spdk"'},
            ("--target", "shared"),
            "the backend 'spdk' cannot start at a given time",
        ),
        ("h1, h2", {"scheduler": ""}, ("--target", "shared"), "but no scheduler"),
    ],
)
def test_what_cannot_be_is_said_once_and_first(
    hosts: str,
    said: dict[str, str] | None,
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    lab = (
        LAB.format(**{"scheduler": AT, "more": ""} | said) if said is not None else None
    )
    told = refusal(tmp_path, PLAN.replace("h1, h9", hosts), lab, *words)
    assert message in told
    assert told.count("error") == 1


def test_hosts_that_differ_by_backend_are_refused(tmp_path: Path) -> None:
    lab = LAB.format(scheduler=AT, more="").replace(
        "[hosts.h2]", '[hosts.h2]\nbackend = "fio"'
    )
    plan = PLAN.replace("h9", "h2")
    told = refusal(tmp_path, plan, lab, "--target", "shared")
    assert "the lab has h1: io_uring, h2: fio; choose with --backend" in told


@NEEDS_FIO
def test_one_host_alone_does_not_do_what_is_on_several(tmp_path: Path) -> None:
    """Not by `crosscheck` either."""
    words = ("--backends", "sim,fio", "--create", "16MiB", "--target")
    done = ioplan("crosscheck", plan_file(tmp_path, PLAN), *words, tmp_path / "t")
    assert done.code == 2
    assert "this host alone cannot run streams on h1, h9" in done.err


def test_a_busy_machine_is_asked_for_longer() -> None:
    """More exchanges until one was quick; of many slow ones the best has to do."""
    slow, quick = Offset(0, 5 * MS_NS), Offset(0, MS_NS // 10)
    assert not is_known([quick] * 7, patient=False)
    assert is_known([*[slow] * 7, quick], patient=True)
    assert not is_known([slow] * 39, patient=True)
    assert is_known([slow] * 8, patient=False) and is_known([slow] * 40, patient=True)
