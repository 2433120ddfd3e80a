"""Events, records and details for the tests of the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

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
from ioplan.records import BackendFacts, RunDetail, RunRecord, RunRequest, Session
from ioplan.records.record import Asked
from ioplan.results.measure import Histogram, Measurement
from ioplan.results.store.overview import SessionOverview
from ioplan.workload import Direction, SizeShare, Stream, Workload

SECOND_NS = 10**9
BLOCK_BYTES = 4096
HOST = {"name": "host-a", "cores": 64, "kernel": "6.1"}


def flat(parts: Iterable[Iterable[int]]) -> list[int]:
    return list(chain.from_iterable(parts))


def counts(latencies_ns: Sequence[int], **more: Any) -> Counts:
    """What a backend counts of I/Os with these latencies."""
    values = [int(value) for value in latencies_ns]
    fields = {
        "ios": len(values),
        "bytes": len(values) * BLOCK_BYTES,
        "min_ns": min(values, default=0),
        "max_ns": max(values, default=0),
        "sum_ns": sum(values),
        "sum_sq_ns2": float(sum(value * value for value in values)),
        "bins": Histogram.of_values(values).bins(),
    }
    return Counts(**fields | more)


def stream(name: str = "main", **directions: Counts) -> StreamCounts:
    by: dict[Direction, Counts] = directions  # type: ignore[assignment]
    return StreamCounts(name=name, directions=by)


def progress(second: int, *streams: StreamCounts, warmup: bool = False) -> Progress:
    return Progress(
        t_ns=second * SECOND_NS, interval_ns=SECOND_NS, warmup=warmup, streams=streams
    )


def result(seconds: int, *streams: StreamCounts) -> Result:
    cpu = Cpu(user_ns=SECOND_NS // 4, system_ns=SECOND_NS // 4)
    return Result(run_ns=seconds * SECOND_NS, streams=streams, cpu=cpu)


def latencies_ns(seed: int, size: int) -> list[int]:
    """Skewed as latencies are: around 90 us, with a tail."""
    drawn = np.random.default_rng(seed).lognormal(11.4, 0.4, size)
    return [int(value) for value in drawn]


def measurement(seed: int = 1, seconds: int = 3, ios: int = 200) -> Measurement:
    """A sound run of reads and writes."""
    reads = [latencies_ns(seed * 1000 + s, ios) for s in range(seconds)]
    writes = [latencies_ns(seed * 1000 + s + 500, ios // 2) for s in range(seconds)]
    made = Measurement()
    for second, (r, w) in enumerate(zip(reads, writes, strict=True), start=1):
        made.add(progress(second, stream(read=counts(r), write=counts(w))))
    whole = stream(read=counts(flat(reads)), write=counts(flat(writes)))
    made.add(result(seconds, whole))
    return made


def session(id: str = "20261121-054512-k3f9", **more: Any) -> Session:
    fields = {
        "plan": "demo",
        "plan_file": "demo.ioplan",
        "plan_text": "test demo",
        "started_at": "2026-11-21T05:45:12Z",
        "backend": "sim",
        "target": "/dev/sim0",
        "request": RunRequest(targets=("/dev/sim0",)),
        "host": HOST,
    }
    return Session(id=id, **fields | more)


def overview(**more: Any) -> SessionOverview:
    """A session as lists have it; `more` replaces fields."""
    fields: dict[str, Any] = {name: "" for name in SessionOverview.__struct_fields__}
    fields |= {"id": "20261121-054512-k3f9", "status": "ok", "verdict": "none"}
    fields |= {"ended_at": None, "runs": 1, "job": None, "drive": None, "tags": ()}
    return SessionOverview(**fields | more)


def workload() -> tuple[Workload, Job]:
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
    return Workload(streams=(asked,)), job


def record(
    seq: int,
    session: str = "20261121-054512-k3f9",
    test: str = "demo",
    made: Measurement | None = None,
    **more: Any,
) -> RunRecord:
    """The record of a measurement; `more` replaces fields, `cell` that of `asked`."""
    made = made or measurement(seq)
    load, job = workload()
    asked = Asked(
        plan="demo",
        plan_file="demo.ioplan",
        test=test,
        cell=more.pop("cell", {"qd": str(2**seq), "bs": "4KiB"}),
        kind="run",
        step=0,
        workload=load,
        job=job,
    )
    fields = {
        "session": session,
        "seq": seq,
        "run_id": f"run-{seq}",
        "status": "ok",
        "ioplan": "1.0",
        "asked": asked,
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


def run(seq: int, **more: Any) -> tuple[RunRecord, RunDetail]:
    """A record and its detail."""
    made = measurement(seq)
    return record(seq, made=made, **more), made.detail
