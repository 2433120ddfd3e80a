"""Jobs for the tests of the fio backend, and programs that stand in fio's place."""

import shutil

import pytest

from ioplan.backends import TargetRequest
from ioplan.job import SECOND_NS, Job
from ioplan.target_entry import LabTarget
from ioplan_fio import FioBackend

MIB = 1 << 20
NEEDS_FIO = pytest.mark.skipif(
    shutil.which("fio") is None,
    reason="LEFT OUT: fio is not installed, so nothing was run for real by it",
)


def one_size(size_bytes):
    return [{"size_bytes": size_bytes, "percent": 100}]


def split(*pairs):
    return [{"size_bytes": size, "percent": percent} for size, percent in pairs]


def stream(**fields):
    """A stream of 4 KiB random reads, but for what is given."""
    usual = {
        "pattern": "random",
        "read_percent": 100,
        "read_sizes": one_size(4096),
        "write_sizes": one_size(4096),
        "region_start_bytes": 0,
        "region_end_bytes": 64 * MIB,
    }
    return usual | fields


def job(*streams, **fields):
    """A job of a second, but for what is given."""
    usual = {
        "target": "/data/target.bin",
        "capacity_bytes": 64 * MIB,
        "block_bytes": 512,
        "streams": streams or (stream(),),
        "interval_ns": SECOND_NS // 10,
        "read_only": False,
    }
    if not fields.keys() & {"run_ns", "limit_bytes", "passes"}:
        usual["run_ns"] = SECOND_NS
    return Job.model_validate(usual | fields)


def stand_in(folder, body, version="fio-3.33"):
    """A program in fio's place."""
    path = folder / "fio"
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\n{body}\n'
    )
    path.chmod(0o755)
    return str(path)


def replay(folder, out, said="", code=0):
    """A fio that prints what a real one has printed."""
    (folder / "out").write_text(out)
    (folder / "said").write_text(said)
    body = f"cat '{folder}/out'; cat '{folder}/said' >&2; exit {code}"
    return stand_in(folder, body)


def events(wanted, program, target, backing=None, **options):
    """All events of a job on a file, or on the loop device that one is behind."""
    entry = LabTarget(backing_file=str(backing), writable=True) if backing else None
    named = {} if program is None else {"path": program}
    drive = FioBackend().open(
        TargetRequest(
            path=str(target),
            overwrite_data=(str(backing or target),),
            writes=True,
            options=named | options,
            entry=entry,
        )
    )
    try:
        with drive.start(
            wanted.model_copy(update={"target": str(target)})
        ) as execution:
            return list(execution)
    finally:
        drive.close()
