"""How much a job does, where, how fast and with what data, against real fio."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from imported import imported

from ioplan.results.store import Store
from targets import MIB

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


def job(options: str, target: object = "f") -> str:
    return f"{HEAD.format(target)}{options}\n"


@pytest.mark.long_but_first
@pytest.mark.slow
@NEEDS_FIO
@pytest.mark.parametrize("options", AMOUNTS)
def test_as_many_ios_are_done_as_by_fio(
    options: str, tmp_path: Path, store_path: Path
) -> None:
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
def test_a_rate_of_several_sizes_is_real_fio_s(options: str, tmp_path: Path) -> None:
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
    options: str, clauses: set[str], zeros: bool, tmp_path: Path
) -> None:
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
