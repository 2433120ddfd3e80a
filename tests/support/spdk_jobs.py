"""Jobs for bdevperf, and programs that are it or stand in for it."""

import json
import os
import sys

import paths

from golden import Golden
from ioplan import JobStream
from ioplan.backends import BackendError, TargetRequest
from ioplan.job import SECOND_NS, Job
from ioplan.workload import SizeShare
from ioplan_spdk import SpdkBackend
from ioplan_spdk.program import program_path

RECORDINGS = Golden("spdk_recordings")
MALLOC, MALLOC_BYTES = "malloc:64MiB", 64 << 20


def job(target=MALLOC, capacity=MALLOC_BYTES, **changes):
    """A job of one stream; what names no field of the job goes to the stream."""
    size = (SizeShare(size_bytes=changes.pop("size", 4096), percent=100),)
    of_job = {k: changes.pop(k) for k in list(changes) if k in Job.model_fields}
    stream = {
        "pattern": "random",
        "read_percent": 100,
        "read_sizes": size,
        "write_sizes": size,
        "qd": 4,
        "region_start_bytes": 0,
        "region_end_bytes": capacity,
        **changes,
    }
    seconds = of_job.pop("run_ns", SECOND_NS)
    return Job(
        **{
            "target": target,
            "capacity_bytes": capacity,
            "block_bytes": 512,
            "streams": (JobStream(**stream),),
            "run_ns": seconds,
            **of_job,
        }
    )


def stand_in(folder, transcript, manner="dialogue", speed=20):
    """A program that plays a transcript, so many times faster than it was."""
    path, played = folder / "bdevperf", folder / "transcript.json"
    played.write_text(json.dumps(RECORDINGS[transcript].input))
    player = paths.SUPPORT / "play_bdevperf.py"
    path.write_text(
        f"#!/bin/sh\nPLAY_SPEED={speed} exec {sys.executable} {player} {played} "
        f'{manner} "$@"\n'
    )
    path.chmod(0o755)
    return path


def opened(program, target=MALLOC, folder=None, **options):
    """A target of bdevperf, without hugepages."""
    usual = {"path": str(program), "driver": "bdevperf", "no_huge": True}
    said = {**usual, "patience_s": 5, **options}
    kept = str(folder) if folder else None
    request = TargetRequest(path=target, options=said, folder=kept)
    return SpdkBackend().open(request)


def events(drive, asked):
    """All events of a run."""
    with drive.start(asked) as execution:
        return list(execution)


def real():
    """bdevperf itself, where there is one."""
    try:
        return program_path()
    except BackendError:
        return None


LEFT_OUT = (
    "LEFT OUT: there is no bdevperf; put it on PATH or set IOPLAN_SPDK_DIR"
    f" (which is {os.environ.get('IOPLAN_SPDK_DIR', 'not set')})"
)
