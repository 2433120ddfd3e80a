"""A replayed trace as the simulated drive takes it beside other streams: in steps.

Beside them the drive works in slices of time in which little changes, and draws what
chance decides in them; so a trace gives it how many I/Os arrive when, their sizes and
their mix, but not the place of each.
"""

from __future__ import annotations

from itertools import pairwise

from ioplan.backends import Gap
from ioplan.job import SECOND_NS, Job, JobStream
from ioplan.job_replay import trace_of
from ioplan.trace.prepared import Prepared, numbers_at
from ioplan.workload import Rate, RatePhase, Replay

STEPS = 200
SHORTEST_NS = 1_000_000


def gaps_of(job: Job) -> list[Gap]:
    """What is done instead of each I/O at its place."""
    replays = [stream for stream in job.streams if stream.replay]
    if job.phases and len(replays) == len(job.streams):
        reason = "a simulated replay does not count I/Os by phases of a run"
        return [Gap(stream=replays[0].name, field="during", reason=reason)]
    return [
        Gap(
            stream=stream.name,
            field="replay",
            reason="beside other streams the drive does not place each I/O of a trace",
            instead=f"the trace's rate in {STEPS} steps, with its sizes and its mix",
            mild=stream.pace != "after",
        )
        for stream in replays
        if len(replays) < len(job.streams)
    ]


def with_rates(job: Job) -> Job:
    """The job with its traces' rates. Raises BackendError for a trace that is gone."""
    if not any(stream.replay for stream in job.streams):
        return job
    streams = tuple(_rated(one) if one.replay else one for one in job.streams)
    return job.model_copy(update={"streams": streams})


def _rated(stream: JobStream) -> JobStream:
    trace = trace_of(stream)
    assert stream.replay
    touched_bytes = max(stream.replay.end_bytes, 1 << 20)
    end_bytes = min(stream.region_end_bytes, stream.region_start_bytes + touched_bytes)
    fast = stream.pace == "fast"
    rate = None if fast else _rate(trace, stream.replay, stream.speed)
    return stream.model_copy(update={"rate": rate, "region_end_bytes": end_bytes})


def _rate(trace: Prepared, replay: Replay, speed: float) -> Rate:
    """Looked up by time, so that the trace is not read as a whole.

    Where only some I/Os are replayed, they are their share at any time.
    """
    first = numbers_at(trace.path, trace.header.count, [replay.from_ns])[0]
    begin_ns, span_ns = (
        int(trace.ios["time_ns"][first]),
        max(replay.span_ns, SHORTEST_NS),
    )
    steps = max(1, min(STEPS, span_ns // SHORTEST_NS))
    edges = [begin_ns + (span_ns + 1) * number // steps for number in range(steps + 1)]
    numbers = numbers_at(trace.path, trace.header.count, edges)
    share = replay.ios / (numbers[-1] - first)
    counts = [(after - before) * share for before, after in pairwise(numbers)]
    length_ns = max(1, round(span_ns / steps / speed))
    return Rate(
        iops=replay.ios * SECOND_NS / (length_ns * steps),
        arrivals="poisson",
        phases=tuple(
            RatePhase(length_ns=length_ns, per_s=count * SECOND_NS / length_ns)
            for count in counts
        ),
    )
