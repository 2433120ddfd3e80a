"""A replay as fio does it: a log for its `read_iolog`, and how late its I/Os were.

Seen on fio 3.33: it waits from its last issue, so that errors add up, and takes note of
completions only where its queue is full or it issues the next I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ioplan.backends import (
    DISCARD,
    FLUSH,
    FUA,
    READ,
    WRITE,
    Ios,
    Job,
    JobStream,
    chunks,
    moving_ios,
    trace_of,
)

ACTIONS = {READ: "read", WRITE: "write", DISCARD: "trim", FLUSH: "datasync"}
MOST_IOS = 10_000_000
"""fio has a whole log in memory, about 100 bytes for each I/O."""
NAME = "t"
"""The target in a log; `replay_redirect` says which that is."""
US_NS, MS_NS = 1_000, 1_000_000


def replay_lines(name: str, stream: JobStream, target: str) -> Iterator[str]:
    """Of a section with that name: the log, and where its I/Os go."""
    yield f"read_iolog={log_name(name)}"
    yield f"replay_redirect={target}"
    yield "time_based=0"  # once through it, or less
    # Without a pause after the last one, fio neither awaits nor counts the I/Os that
    # are outstanding then.
    yield "thinktime=1us"
    yield f"thinktime_blocks={moving_ios(stream)}"
    yield "thinktime_blocks_type=issue"
    if stream.pace == "fast":
        yield "replay_no_stall=1"
    else:
        yield f"write_lat_log={name}"
        yield "per_job_logs=1"


def log_name(section: str) -> str:
    """The file in fio's folder that `read_iolog` names."""
    return f"{section}.iolog"


def write_logs(names: list[str], job: Job, folder: Path) -> dict[str, int]:
    """A log for each stream that replays; how many I/Os have FUA, which it cannot say.

    Raises BackendError for a trace that is gone, OSError.
    """
    return {
        stream.name: _write(folder / log_name(name), job, stream)
        for name, stream in zip(names, job.streams, strict=True)
        if stream.replay
    }


def _write(path: Path, job: Job, stream: JobStream) -> int:
    fua = 0
    with path.open("w") as file:
        file.write(f"fio version 3 iolog\n0 {NAME} add\n0 {NAME} open\n")
        for ios in chunks(trace_of(stream), stream, job.block_bytes):
            fua += int((ios["flags"] & FUA > 0).sum())
            file.writelines(
                f"{at} {NAME} {ACTIONS[kind]} {offset} {size}\n"
                for at, kind, offset, size in zip(
                    _times_us(ios, stream),
                    ios["kind"].tolist(),
                    ios["offset"].tolist(),
                    ios["size"].tolist(),
                    strict=True,
                )
            )
    return fua


def _times_us(ios: Ios, stream: JobStream) -> list[int]:
    """fio takes the first time for no wait, and 0 for no time."""
    since: list[int] = (
        np.rint(ios["time_ns"] / stream.speed / US_NS).astype("i8").tolist()
    )
    return [at + 1 for at in since]


def lateness(names: list[str], job: Job, folder: Path) -> dict[str, Any]:
    """By stream, since its first I/O, in the whole ms of fio's logs."""
    found = {}
    for name, stream in zip(names, job.streams, strict=True):
        if stream.replay and stream.pace == "recorded":
            issued = _issued_ms(folder, name)
            if len(issued):
                found[stream.name] = _late(issued, job, stream)
    return found


def _issued_ms(folder: Path, name: str) -> np.ndarray:
    """When I/Os with data were issued, in this order: the log of submissions, which
    engines that do one at a time lack; of these, completions less their latencies."""
    for kind in ("slat", "clat"):
        files = sorted(folder.glob(f"{name}_{kind}.*.log"))
        rows = [_table(file) for file in files if file.stat().st_size]
        if rows:
            (table,) = rows
            took_ms = table[:, 1] / MS_NS if kind == "clat" else 0
            moved = table[:, 2] <= WRITE
            return np.asarray((table[:, 0] - took_ms)[moved])
    return np.zeros(0)


def _table(file: Path) -> np.ndarray:
    """`ms, ns, direction, bytes, …`: of a log that was cut off, its whole lines."""
    rows = [line.split(",")[:3] for line in file.read_text().splitlines()]
    return np.array([row for row in rows if len(row) == 3], dtype=float)


def _late(issued_ms: np.ndarray, job: Job, stream: JobStream) -> dict[str, float]:
    parts = [
        ios["time_ns"][(ios["kind"] == READ) | (ios["kind"] == WRITE)]
        for ios in chunks(trace_of(stream), stream, job.block_bytes)
    ]
    intended_ns = np.concatenate(parts)[: len(issued_ms)] / stream.speed
    issued_ns = issued_ms[: len(intended_ns)] * MS_NS
    late = (issued_ns - issued_ns[0]) - (intended_ns - intended_ns[0])
    late = np.maximum(0, late)
    return {
        "ios": len(late),
        "p50_ns": round(float(np.quantile(late, 0.5))),
        "p99_ns": round(float(np.quantile(late, 0.99))),
        "max_ns": round(float(late.max())),
        "drift_ns": round(float(late[-1])),
        "resolution_ns": MS_NS,
    }


def remove_logs(names: list[str], job: Job, folder: Path) -> None:
    """What a run has left of them: the trace says the same in less space."""
    for name, stream in zip(names, job.streams, strict=True):
        if not stream.replay:
            continue
        (folder / log_name(name)).unlink(missing_ok=True)
        for file in folder.glob(f"{name}_*lat.*.log"):
            file.unlink(missing_ok=True)
