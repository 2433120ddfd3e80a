"""What real fio makes of job files, and each parameter that vdbench knows."""

import json
import subprocess
from collections import Counter
from itertools import pairwise

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from imported import imported, streams_of, told
from test_said import SIZES

from golden import Golden
from ioplan.results.store import Store
from targets import MIB


def _fio(words, folder):
    done = subprocess.run(
        ["fio", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@NEEDS_FIO
@pytest.mark.long
def test_real_fio_reads_sizes_as_we_do(tmp_path):
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
@pytest.mark.parametrize("name", ["matrix", "streams", "clauses"])
def test_real_fio_has_the_same_jobs(name, tmp_path, monkeypatch):
    """`--showcmd` prints each job with the options that are in force for it."""
    job = Golden("imports")[f"{name}.fio"].put(tmp_path)
    shown = _fio(["--showcmd", str(job)], tmp_path).split()
    jobs = [word.removeprefix("--name=") for word in shown if word[:7] == "--name="]
    monkeypatch.setenv("PATH", "")
    lines = ioplan("import", job, "--prove").err.splitlines()
    found = [one.split(": ")[1] for one in lines if "equal: " in one]
    assert found == jobs


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize("text", ["3k-10k", "4k-10k", "16k-4k", "5k-5k"])
def test_a_range_of_sizes_has_the_shares_of_real_fio(text, tmp_path):
    ios, words = 20_000, "--name=a --filename=x --ioengine=null --write_iolog=log"
    options = f"rw=randread norandommap size=1g bsrange={text}".split()
    more = [f"--{one}" for one in (*options, f"number_ios={ios}")]
    _fio([*words.split(), *more], tmp_path)
    lines = (tmp_path / "log").read_text().splitlines()
    sizes = Counter(int(one.split()[-1]) for one in lines if " read " in one)
    job = "\n".join(["[a]", "ioengine=libaio", "direct=1", *options, ""])
    (stream,) = streams_of(imported(job).text)
    wanted = {one.size_bytes: one.percent for one in stream.read_sizes}
    assert sizes.keys() == wanted.keys()
    for size, percent in wanted.items():
        assert 100 * sizes[size] / ios == pytest.approx(percent, abs=2)


@pytest.mark.long_but_first
@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.parametrize(
    ("every", "alike"), [(16, True), (8, True), (1, True), (3, False)]
)
def test_by_completion_real_fio_has_the_groups_of_issued_ios(every, alike, tmp_path):
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
        losses = [one for one in told(imported(text)) if "fio pauses when" in one]
        assert (not losses) == as_issued
        assert are_groups_of(every, group_sizes(ends_ms, 20)) == as_issued


def group_sizes(ends_ms, pause_ms):
    """How many I/Os came back between two pauses, but for the first and last group."""
    sizes = [1]
    for before_ms, after_ms in pairwise(ends_ms):
        # both are rounded down
        if after_ms - before_ms < pause_ms - 1:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes[1:-1]


def are_groups_of(every, sizes):
    """Of most groups: a machine that stalls for a pause makes two of one."""
    assert len(sizes) >= 3, f"too few groups to tell: {sizes}"
    return sizes.count(every) > len(sizes) / 2


# what vdbench lists, in its own sources (5.04)

LISTED = [
    (case.removeprefix("vdbench "), name)
    for case, one in Golden("options").items()
    for name in one.input
    if case.startswith("vdbench ")
]
WHOLE = {
    "general": "",
    "hd": "hd=localhost",
    "sd": "sd=s,lun=/dev/sdb,openflags=o_direct",
    "wd": "wd=w,sd=s,rdpct=50,xfersize=8k",
    "more": "wd=v,sd=s,rdpct=0",
    "rd": "rd=r,wd=w,iorate=100",
}
VALUES = {name: one.input for name, one in Golden("option_values").items()}
"""A value that asks for something else; of most parameters it is 7. What has `no matter`
cannot matter to the target: how vdbench prints, and how it reaches a host."""


def asked(kind, name, value):
    """The plan's text and what is told, of a file with a value in one definition."""
    lines, text = dict(WHOLE), f"{name}={value}" if name else ""
    if (kind, name) == ("wd", "iorate"):
        text = f"{name}=10"
    if name == "skew":  # of one workload it is all
        lines["rd"] = "rd=r,wd=(w,v),iorate=100"
    lines[kind] = ",".join(filter(None, (lines[kind], text)))
    made = imported("\n".join(lines.values()), "vdbench")
    plan = "\n".join(one for one in made.text.splitlines() if one[:1] != "#")
    return plan, " ".join(told(made))


BASE = asked("general", "", "")


@pytest.mark.parametrize(("kind", "name"), LISTED)
def test_each_parameter_of_vdbench_is_said_or_told_or_of_no_matter(kind, name):
    usual = asked(kind, name, "50") if name == "skew" else BASE
    known = VALUES.get(f"vdbench {kind} {name}", {})
    found = asked(kind, name, known.get("asks", "7"))
    assert (found == usual) == ("no matter" in known), found


# how much a job does, where, how fast and with what data, against real fio

HEAD = "[a]\nfilename={}\nbs=4k\ndirect=1\n"
AMOUNTS = {
    "rw=randread\nsize=1m\nnumber_ios=100000": 256,
    "rw=randread\nsize=1m\nnumber_ios=100\nloops=3": 300,
    "rw=read\nsize=4m\nio_size=1m\nloops=3": 768,
    "rw=randread\nsize=4m\nio_size=1m\nnumber_ios=5000": 256,
    "rw=randread\nfilesize=4m\nsize=1m": 256,
    "rw=randread\nnorandommap\nfilesize=1m\nsize=4m": 256,
    "rw=read\nsize=1m\nnumber_ios=100": 100,
    "rw=read\nsize=1m\nloops=2": 512,
}
"""I/Os of a job on a file of 4 MiB."""


def job(options, target="f"):
    return f"{HEAD.format(target)}{options}\n"


@pytest.mark.long_but_first
@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize("options", AMOUNTS)
def test_as_many_ios_are_done_as_by_fio(options, tmp_path, store_path):
    file = tmp_path / "f"
    file.write_bytes(bytes(4 * MIB))
    path = tmp_path / "t.fio"
    path.write_text(job(options, file))
    words = ("fio", "--output-format=json", "--write_iolog=log", path)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    found = json.loads(done.stdout[done.stdout.index(b"{") :])["jobs"][0]["read"]
    assert found["total_ios"] == AMOUNTS[options]
    made = imported(job(options, file))
    assert made.is_whole, made.found
    sim = ("--backend", "sim", "--create", "4MiB", "-q")
    assert ioplan("run", plan_file(tmp_path, made.text), *sim).code == 0
    with Store.open(store_path) as store:
        (record,) = store.records(store.session("last").id)
    assert record.total.ios == AMOUNTS[options]
    log = (line.split() for line in (tmp_path / "log").read_text().splitlines())
    ends = [int(row[-2]) + int(row[-1]) for row in log if "read" in row]
    (stream,) = record.asked.job.streams
    assert stream.region_end_bytes >= max(ends) > 0.97 * stream.region_end_bytes or (
        "number_ios=100\n" in f"{options}\n" or "io_size" in options
    )


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize(
    "options", ["rate_iops=2000", "rate=20m\nrate_process=poisson"]
)
def test_a_rate_of_several_sizes_is_real_fio_s(options, tmp_path):
    """As test_said.py has it. Of a null device, by its own clock: 2,000 and 5,120 times the smallest, while the
    mean is 8.5 times as large."""
    words = "--name=a --filename=x --ioengine=null --rw=randread --bssplit=4k/50:64k/50"
    words += " --size=1g --norandommap --time_based --runtime=1 --output-format=json"
    more = (f"--{one}" for one in options.splitlines())
    done = subprocess.run(
        ["fio", *words.split(), *more], cwd=tmp_path, capture_output=True, check=True
    )
    found = json.loads(done.stdout[done.stdout.index(b"{") :])["jobs"][0]["read"]
    if "poisson" in options:
        assert found["iops"] == pytest.approx(5120, rel=0.15)
    else:
        assert found["bw_bytes"] == pytest.approx(2000 * 4096, rel=0.15)


@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize(
    ("options", "clauses", "zeros"),
    [
        ("", {"data zeros"}, True),
        ("dedupe_percentage=50", {"dedup 50%"}, False),
        ("buffer_compress_percentage=50", {"data compressible 50%"}, False),
        ("buffer_pattern=0xdead", set(), False),
    ],
)
def test_zeros_are_written_where_nothing_else_is_said(
    options, clauses, zeros, tmp_path
):
    """And what is durable does not depend on what is written."""
    more = f"rw=write\nsize=256k\nzero_buffers\nfsync=2\nsync=dsync\n{options}"
    (tmp_path / "t.fio").write_text(job(more))
    subprocess.run(["fio", "t.fio"], cwd=tmp_path, capture_output=True, check=True)
    assert ((tmp_path / "f").read_bytes() == bytes(1 << 18)) is zeros
    text = imported(job(more)).text.replace("\n    ", " ")
    found = {
        one
        for one in ("data zeros", "dedup 50%", "data compressible 50%")
        if one in text
    }
    assert found == clauses
    assert "sync every 2" in text and "fua" in text
