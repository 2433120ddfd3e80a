"""Events, records and details whose figures and histograms are given."""

from itertools import chain

import numpy as np

from ioplan import JobStream
from ioplan.job import (
    Counts,
    Cpu,
    Job,
    Progress,
    Result,
    StreamCounts,
)
from ioplan.language import SteadyRule, parse_metric
from ioplan.records import (
    BackendFacts,
    Interval,
    RunRecord,
)
from ioplan.records.record import Asked
from ioplan.results.measure import (
    Figure,
    Histogram,
    Measurement,
    assess,
    bucket_index,
)
from ioplan.workload import SizeShare, Stream, Workload

SECOND_NS = 10**9
BLOCK_BYTES = 4096
HOST = {"name": "host-a", "cores": 64, "kernel": "6.1"}
SESSION_ID = "20261121-054512-k3f9"


def flat(parts):
    return list(chain.from_iterable(parts))


def histogram(latencies_ns):
    return Histogram.of(
        number for value in latencies_ns for number in (bucket_index(int(value)), 1)
    )


def latencies_ns(seed, size):
    """Skewed as latencies are: around 90 us, with a tail."""
    drawn = np.random.default_rng(seed).lognormal(11.4, 0.4, size)
    return [int(value) for value in drawn]


# events


def counts(latencies_ns, **more):
    """What a backend counts of I/Os with these latencies."""
    values = [int(value) for value in latencies_ns]
    fields = {
        "ios": len(values),
        "bytes": len(values) * BLOCK_BYTES,
        "min_ns": min(values, default=0),
        "max_ns": max(values, default=0),
        "sum_ns": sum(values),
        "sum_sq_ns2": float(sum(value * value for value in values)),
        "bins": histogram(values).bins(),
    }
    return Counts(**fields | more)


def stream(name="main", **directions):
    by = directions
    return StreamCounts(name=name, directions=by)


def progress(second, *streams, warmup=False):
    return Progress(
        t_ns=second * SECOND_NS, interval_ns=SECOND_NS, warmup=warmup, streams=streams
    )


def result(seconds, *streams):
    cpu = Cpu(user_ns=SECOND_NS // 4, system_ns=SECOND_NS // 4)
    return Result(run_ns=round(seconds * SECOND_NS), streams=streams, cpu=cpu)


def measured(*events):
    made = Measurement()
    for event in events:
        made.add(event)
    return made


def measurement(seed=1, seconds=3, ios=200):
    """A sound run of reads and writes."""
    reads = [latencies_ns(seed * 1000 + s, ios) for s in range(seconds)]
    writes = [latencies_ns(seed * 1000 + s + 500, ios // 2) for s in range(seconds)]
    whole = stream(read=counts(flat(reads)), write=counts(flat(writes)))
    pairs = enumerate(zip(reads, writes, strict=True), start=1)
    parts = (
        progress(second, stream(read=counts(r), write=counts(w)))
        for second, (r, w) in pairs
    )
    return measured(*parts, result(seconds, whole))


# records


def interval(t_s, ios, length_s=1.0, direction="write", ns=None, **more):
    """I/Os of 4 KiB; `ns` is each of their latencies, which rise from 100 ns to 400 ns
    without it."""
    latencies = dict(
        mean_ns=100.0, p50_ns=90.0, p99_ns=200.0, p99_9_ns=300.0, max_ns=400
    )
    if ns is not None:
        latencies = dict.fromkeys(latencies, ns) | {"max_ns": int(ns)}
    fields = {
        "t_s": t_s,
        "length_s": length_s,
        "ios": {direction: ios},
        "bytes": {direction: BLOCK_BYTES * ios},
        "errors": 0,
        **latencies,
    }
    return Interval(**fields | more)


def workload(**changes):
    """One stream of random reads and writes; `changes` are to what is asked of it."""
    sizes = (SizeShare(size_bytes=BLOCK_BYTES, percent=100),)
    asked = Stream(
        pattern="random", read_percent=66.7, read_sizes=sizes, write_sizes=sizes, qd=4
    )
    placed = JobStream(
        **asked.model_dump() | {"pause_ns": 1_000_000},
        region_start_bytes=0,
        region_end_bytes=1 << 30,
    )
    job = Job(
        target="/dev/sim0",
        capacity_bytes=1 << 30,
        block_bytes=512,
        streams=(placed,),
        run_ns=3 * SECOND_NS,
        read_only=False,
    )
    return Workload(streams=(asked.model_copy(update=changes),)), job


def record(seq, made=None, **more):
    """The record of a measurement; `more` replaces fields of it or of what was asked, and
    `load` those of the stream that was asked for."""
    made = made or measurement(seq)
    load, job = workload(**more.pop("load", {}))
    asked = {
        "plan": "demo",
        "plan_file": "demo.ioplan",
        "test": "demo",
        "cell": {"qd": str(2**seq), "bs": "4KiB"},
        "kind": "run",
        "step": 0,
        "workload": load,
        "job": job,
    }
    asked |= {name: more.pop(name) for name in Asked.model_fields.keys() & more.keys()}
    fields = {
        "session": SESSION_ID,
        "seq": seq,
        "run_id": f"run-{seq}",
        "status": "ok",
        "ioplan": "1.0",
        "asked": Asked(**asked),
        "backend": BackendFacts(name="sim", version="1"),
        "target": {"path": "/dev/sim0", "capacity_bytes": 1 << 30},
        "host": HOST,
        "started_at": "2026-11-21T05:45:12Z",
        "ended_at": "2026-11-21T05:45:15Z",
        "run_s": made.run_ns / 1e9,
        "streams": made.streams,
        "directions": made.directions,
        "total": made.total,
        "cpu": made.cpu,
        "cpu_percent": made.cpu_percent,
    }
    return RunRecord(**fields | more)


def run(seq, made=None, **more):
    """A record and its detail."""
    made = made or measurement(seq)
    return record(seq, made, **more), made.detail


def changed(one, **more):
    """With other fields, of the record or of what was asked."""
    asked = {name: more.pop(name) for name in Asked.model_fields.keys() & more.keys()}
    return one.model_copy(update={"asked": one.asked.model_copy(update=asked), **more})


def at_rate(one, iops, faster=1.0, **more):
    """With so many reads of 4 KiB a second, whose latencies are so many times shorter."""
    ios = round(iops * one.run_s)
    figures = {
        "ios": ios,
        "bytes": ios * BLOCK_BYTES,
        "iops": ios / one.run_s,
        "bandwidth_bytes_per_s": ios * BLOCK_BYTES / one.run_s,
        "latency": _shorter(one.total, faster, ios),
    }
    total = one.total.model_copy(update=figures)
    return changed(one, total=total, directions={"read": total}, **more)


def _shorter(total, faster, ios):
    """Its latencies; so many I/Os support as many percentiles as they do."""
    assert total.latency
    percentiles = tuple(
        each.model_copy(
            update={
                "latency_ns": each.latency_ns / faster,
                "supported": ios * (100 - each.percent) >= 1000 - 1e-6,
            }
        )
        for each in total.latency.percentiles
    )
    mean_ns = total.latency.mean_ns / faster
    return total.latency.model_copy(
        update={"mean_ns": mean_ns, "percentiles": percentiles}
    )


def without_io(seq, **more):
    """A run that failed before its first I/O."""
    nothing = {"ios": 0, "bytes": 0, "iops": 0.0, "latency": None}
    total = measurement(seq).total.model_copy(update=nothing)
    fields = {"status": "failed", "directions": {}, "streams": ()}
    return record(seq, **{"total": total, **fields, **more})


def assessed(*values, metric="iops", **rule):
    """What is said of rounds with these values, by the usual rule but for `rule`."""
    asked = SteadyRule(metric=parse_metric(metric), **rule)
    return assess(asked, [Figure(value) for value in values])
