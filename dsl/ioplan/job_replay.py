"""The I/Os of a job's stream that replays a trace, for backends that read them here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from ioplan.backends.backend import BackendError
from ioplan.job_stream import JobStream
from ioplan.trace.facts import TraceError
from ioplan.trace.known import file_of, surveyed
from ioplan.trace.prepared import DISCARD, FLUSH, READ, WRITE, Ios, Prepared
from ioplan.trace.selected import Placement, Selection

KINDS = {"read": READ, "write": WRITE, "trim": DISCARD}
Sums = npt.NDArray[np.float64]


def trace_of(stream: JobStream) -> Prepared:
    """The trace of a stream. Raises BackendError for one that is gone."""
    assert stream.replay
    try:
        return Prepared.open(file_of(stream.replay.digest))
    except (TraceError, OSError) as error:
        raise BackendError(f"the trace: {error}") from error


def selection_of(stream: JobStream) -> Selection:
    """Which of its I/Os are replayed."""
    assert stream.replay
    part = stream.replay.from_ns, stream.replay.to_ns
    return Selection(*part, stream.only, stream.writes_as_reads)


def moving_ios(stream: JobStream) -> int:
    """How many I/Os with data are replayed. Raises BackendError."""
    assert stream.replay
    one = stream.replay
    part = () if one.to_ns is None else (one.from_ns, one.to_ns)
    facts = surveyed(trace_of(stream).path, *part)
    return facts.selected(stream.only, stream.writes_as_reads).moving.ios


def chunks(trace: Prepared, stream: JobStream, grid_bytes: int) -> Iterator[Ios]:
    """What is replayed, in its places in the stream's region; `grid_bytes` where the
    trace has none."""
    assert stream.replay
    place = Placement.of(
        stream.offsets,
        stream.align_bytes or grid_bytes,
        max(stream.sizes_bytes),
        stream.replay.end_bytes,
        (stream.region_start_bytes, stream.region_end_bytes),
    )
    for ios in selection_of(stream).chunks(trace):
        moved = place.moved(ios["offset"])
        ios["offset"] = np.where(ios["kind"] == FLUSH, 0, moved)
        yield ios


def own_rate(stream: JobStream, ends_ns: Sequence[int]) -> dict[str, Sums]:
    """What the trace itself has in intervals of the run that end at these times.

    `trace_read_ios`, `trace_read_bytes` and so on, one of each interval: those whose
    recorded time, at the stream's speed, is in it. Raises BackendError, OSError.
    """
    edges = np.array(ends_ns, np.float64)
    found = {
        f"trace_{name}_{what}": np.zeros(len(edges) + 1)
        for name in KINDS
        for what in ("ios", "bytes")
    }
    last_ns = min(edges[-1], stream.ends_ns or inf)
    for ios in selection_of(stream).chunks(trace_of(stream)):
        due_ns = stream.starts_ns + np.rint(ios["time_ns"] / stream.speed)
        places = np.searchsorted(edges, due_ns)
        for name, kind in KINDS.items():
            some = (ios["kind"] == kind) & (due_ns <= last_ns)
            for what, weights in (("ios", None), ("bytes", ios["size"][some])):
                counts = np.bincount(places[some], weights, len(edges) + 1)
                found[f"trace_{name}_{what}"] += counts
        if due_ns[-1] > last_ns:
            break
    return {name: sums[:-1] for name, sums in found.items()}
