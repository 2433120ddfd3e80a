"""Job files of fio as plans."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from fio_jobs import NEEDS_FIO

from golden import Golden
from ioplan.language import Source
from ioplan_importer import Findings, ImportFault, import_plan
from ioplan_importer.fio.job_file import JobFileReader
from ioplan_importer.fio.jobs import FioJob, jobs_of
from ioplan_importer.fio.numbers import NumberFault, bytes_of, time_us
from ioplan_importer.fio.shape import range_sizes
from ioplan_importer.fio.stream import counts_issues

SIZES = {
    "1mi": 1048576,
    "1MiB": 1000000,
    "64KIB": 64000,
    "3kb": 3072,
    "5120b": 5120,
    "0x1000k": 4096,
    "0x100000": 1048576,
    "1e6": 1,
    "10_000": 10,
    "+4k": 4096,
    "8ki": 8192,
    "1.5m": 1,
    "2*1048576": 2,
}
"""What fio 3.33 moved of `size=` with blocks of one byte."""


@pytest.mark.parametrize("text", SIZES)
def test_sizes_are_those_of_fio(text: str) -> None:
    assert bytes_of(text) == SIZES[text]


def test_a_base_of_1000_swaps_the_units() -> None:
    assert (bytes_of("1m", 1000), bytes_of("1mib", 1000)) == (10**6, 1 << 20)


TIMES = {"30": 30_000_000, "2m": 120_000_000, "30sec": 30, "5ms": 5000, "1h": 3.6e9}


@pytest.mark.parametrize("text", TIMES)
def test_times_are_those_of_fio(text: str) -> None:
    assert time_us(text, seconds=True) == TIMES[text]


def test_a_bare_think_time_is_in_microseconds() -> None:
    assert time_us("100", seconds=False) == 100
    with pytest.raises(NumberFault, match="'' is no number"):
        time_us("", seconds=False)


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.long
def test_real_fio_reads_sizes_as_we_do(tmp_path: Path) -> None:
    sections = [f"[j{i}]\nsize={text}\n" for i, text in enumerate(SIZES)]
    head = "[global]\nioengine=null\nfilename=x\nfilesize=1t\nbs=1\n"
    job = tmp_path / "sizes.fio"
    job.write_text(head + "".join(sections))
    found = _fio(["--output-format=json", job.name], tmp_path)
    report = json.loads(found[found.index("{") :])
    moved = [one["read"]["io_bytes"] for one in report["jobs"]]
    assert moved == list(SIZES.values())


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize("name", ["matrix.fio", "streams.fio", "clauses.fio"])
def test_real_fio_has_the_same_jobs(name: str, tmp_path: Path) -> None:
    """`--showcmd` prints each job with the options that are in force for it."""
    case = Golden("imports")[name]
    source = Source(name, case.input)
    jobs = jobs_of(JobFileReader({}, Findings()).read(source), Findings())
    said = _fio(["--showcmd", str(case.put(tmp_path))], tmp_path)
    assert [w for w in said.split() if w.startswith("--name=")] == [
        f"--name={job.name}" for job in jobs
    ]


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize("text", ["3k-10k", "4k-10k", "16k-4k", "5k-5k"])
def test_a_range_of_sizes_has_the_shares_of_real_fio(text: str, tmp_path: Path) -> None:
    ios, words = 20_000, "--name=a --filename=x --ioengine=null --write_iolog=log"
    words += f" --rw=randread --norandommap --size=1g --bsrange={text}"
    _fio([*words.split(), f"--number_ios={ios}"], tmp_path)
    lines = (tmp_path / "log").read_text().splitlines()
    sizes = Counter(int(one.split()[-1]) for one in lines if " read " in one)
    wanted = dict(range_sizes(text, 1024))
    assert sizes.keys() == wanted.keys()
    for size, percent in wanted.items():
        assert 100 * sizes[size] / ios == pytest.approx(percent, abs=2)


def _fio(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        ["fio", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.long_but_first
@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize(
    ("every", "alike"), [(16, True), (8, True), (1, True), (3, False)]
)
def test_by_completion_real_fio_has_the_groups_of_issued_ios(
    every: int, alike: bool, tmp_path: Path
) -> None:
    """But for the first one, if no more than a group is outstanding."""
    (tmp_path / "t").write_bytes(b"x" * (1 << 20))
    for counted in ("complete", "issue"):
        text = (
            f"[j]\nioengine=io_uring\nfilename=t\nrw=randread\nbs=4k\niodepth=8\n"
            f"thinktime=20ms\nthinktime_blocks={every}\nthinktime_blocks_type={counted}\n"
            f"time_based\nruntime=1\nwrite_lat_log=j\n"
        )
        (tmp_path / "j.fio").write_text(text)
        _fio(["j.fio"], tmp_path)
        ends_ms = [
            int(line.split(",")[0]) for line in (tmp_path / "j_lat.1.log").open()
        ]
        as_issued = alike or counted == "issue"
        assert counts_issues(only_job(text), 8, every) == as_issued
        assert are_groups_of(every, group_sizes(ends_ms, 20)) == as_issued


def group_sizes(ends_ms: Sequence[int], pause_ms: int) -> list[int]:
    """How many I/Os came back between two pauses, but for the first and last group."""
    sizes = [1]
    for before_ms, after_ms in pairwise(ends_ms):
        # both are rounded down
        if after_ms - before_ms < pause_ms - 1:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes[1:-1]


def are_groups_of(every: int, sizes: Sequence[int]) -> bool:
    """Of most groups: a machine that stalls for a pause makes two of one."""
    assert len(sizes) >= 3, f"too few groups to tell: {sizes}"
    return sizes.count(every) > len(sizes) / 2


@pytest.mark.parametrize("issued", [7, 8, 9, 16])
def test_groups_are_counted_whatever_the_machine_does(issued: int) -> None:
    ends_ms, now_ms = [], 0
    for number in range(20 * issued):
        now_ms += 25 if number % issued == 0 else 1
        now_ms += 100 if number % (5 * issued) == 3 else 0  # a stall in mid-group
        ends_ms.append(now_ms)
    assert are_groups_of(8, group_sizes(ends_ms, 20)) == (issued == 8)


def only_job(text: str) -> FioJob:
    sections = JobFileReader({}, Findings()).read(Source("j.fio", text))
    (job,) = jobs_of(sections, Findings())
    return job


def test_a_variable_is_given(tmp_path: Path) -> None:
    text = "[j]\nioengine=libaio\ndirect=1\nnorandommap\nrw=randread\nsize=${SPACE}g\n"
    made = import_plan(Source("j.fio", text), "fio", {"SPACE": "2"})
    assert "region 0B..2GiB" in made.text and made.is_whole


def test_an_included_file_adds_options(tmp_path: Path) -> None:
    (tmp_path / "more.fio").write_text("iodepth=32\ninclude deep.fio\n")
    (tmp_path / "deep.fio").write_text("bs=64k\n")
    source = Source(str(tmp_path / "j.fio"), "[j]\nioengine=null\ninclude more.fio\n")
    assert "sequential 64KiB 100/0, qd 32" in import_plan(source, "fio", {}).text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[k]\nbs=4k\n", "an included file may hold no sections"),
        ("include more.fio\n", "files include each other without end"),
    ],
)
def test_included_files_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "more.fio").write_text(text)
    source = Source(str(tmp_path / "j.fio"), "[j]\ninclude more.fio\n")
    with pytest.raises(ImportFault, match=message):
        import_plan(source, "fio", {})


@pytest.mark.parametrize(
    "option",
    [
        *("number_ios", "rate_iops", "rate", "bs", "runtime", "size", "offset"),
        *("thinktime", "io_size", "startdelay", "fsync"),
    ],
)
def test_an_amount_below_zero_is_reported_and_left_out(option: str) -> None:
    """fio takes -1 as 2^64 - 1."""
    head = (
        "[a]\nioengine=libaio\ndirect=1\nrw=randwrite\nnorandommap\nfilename=/dev/sdb\n"
    )
    made = import_plan(Source("t.fio", f"{head}{option}=-1\n"), "fio", {})
    plain = import_plan(Source("t.fio", head), "fio", {})
    assert made.plan and plain.plan
    assert any(f"{option} is below zero" in one.message for one in made.found)
    assert made.text.partition("plan ")[2] == plain.text.partition("plan ")[2]


HEAD = "[a]\nioengine=libaio\ndirect=1\nnorandommap\nfilename=/dev/sdb\n"
SAID = {
    "rw=trim\nbs=4k,8k,1m": ("sequential 1MiB 0/100, trim 100%", ""),
    "rw=trim\nbs=4k,8k": ("sequential 8KiB 0/100, trim 100%", ""),
    "rw=read\nthinktime=2ms\nrate_iops=0": ("100/0, pause 2ms", ""),
    "rw=write\nthinktime=2ms\nrate_iops=500,": ("0/100, pause 2ms", ""),
    "rw=randread\nrandom_distribution=zipf": ("100/0, zipf 1.1", ""),
    "rw=randread\nrandom_distribution=pareto": ("100/0, pareto 0.2", ""),
    "rw=randrw\nrandom_distribution=zoned:90/10:10/90,zoned:50/50:50/50": (
        "hotspots { 90% in 10%, 10% in 90% }",
        "all are where the reads are",
    ),
    "rw=randread\nrandom_distribution=normal:20": ("normal 20%", "fio's normal is"),
    "rw=read\nfilesize=1m-4m": ("region 0B..1MiB", "fio draws filesize"),
    "rw=read\nstartdelay=3-9": ("sequential 4KiB", "fio draws startdelay"),
    "rw=read\npool=rbd": ("sequential 4KiB", "pool=rbd is left out"),
    "rw=read\nlatency_target=1ms": ("sequential 4KiB", "latency_target=1ms is"),
}


@pytest.mark.parametrize("options", SAID)
def test_what_is_said_of_an_option(options: str) -> None:
    written, told = SAID[options]
    made = import_plan(Source("t.fio", f"{HEAD}{options}\n"), "fio", {})
    assert made.plan and written in made.text
    losses = [
        one.message for one in made.found if "left out: no job" not in one.message
    ]
    assert [told in one for one in losses] == [True] * bool(told), losses


def test_blocks_that_may_overlap_cannot_all_come_once() -> None:
    head = HEAD.replace("norandommap\n", "")
    made = import_plan(Source("t.fio", f"{head}rw=randread\nbs=8k\nba=4k\n"), "fio", {})
    assert "random 8KiB 100/0, align 4KiB\n" in made.text
    assert ["may overlap" in one.message for one in made.found] == [True]
    apart = import_plan(
        Source("t.fio", f"{head}rw=randread\nbs=4k\nba=16k\n"), "fio", {}
    )
    assert apart.is_whole and "permuted, align 16KiB" in apart.text


def test_units_with_an_i_are_told_to_be_decimal() -> None:
    made = import_plan(Source("t.fio", f"{HEAD}rw=read\nbs=64KiB\n"), "fio", {})
    assert made.is_whole and "sequential 64KB" in made.text
    assert [one.message for one in made.found] == [
        "for fio the units of bs=64KiB are powers of 1000"
    ]


@pytest.mark.parametrize("runtime", ["", "time_based\nruntime=9\n"])
def test_the_end_of_one_job_that_ends_all_is_reported(runtime: str) -> None:
    text = HEAD.replace("[a]", "[global]") + "rw=read\nexitall\n"
    jobs = f"[a]\nsize=1m\n{runtime}[b]\ntime_based\nruntime=60\n"
    made = import_plan(Source("t.fio", text + jobs), "fio", {})
    assert any(one.message.startswith("exitall is left out") for one in made.found)
    alike = import_plan(
        Source("t.fio", f"{text}[a]\nsize=1m\n[b]\nsize=1m\n"), "fio", {}
    )
    assert alike.is_whole


def test_what_was_found_before_a_fault_is_told() -> None:
    with pytest.raises(ImportFault) as fault:
        import_plan(Source("t.fio", f"{HEAD}rw=read\nbs=4000\n"), "fio", {})
    assert [one.message for one in fault.value.found] == [
        "a block size of 4000 B is no multiple of 512 B"
    ]


def test_jobs_of_one_name_are_two_tests() -> None:
    jobs = f"{HEAD}rw=randread\nsize=1m\n{HEAD}rw=write\nrate=1m\nstonewall\nsize=1m\n"
    made = import_plan(Source("t.fio", jobs), "fio", {})
    assert made.is_whole and 'test "a, 2"' in made.text
