"""What each backend can express, asked by the same question as for a run."""

from __future__ import annotations

from typing import Any, Literal

from ioplan.backends import Backend, TargetFacts
from ioplan.language.checker import check
from ioplan.language.source import Source
from ioplan.planner.jobs import all_jobs
from ioplan.planner.unfold import unfold

Answer = Literal["exactly", "nearly", "no"]

FEATURES = {
    "random, sequential": "run random 4KiB 100/0, qd 4 for 2s",
    "read/write mix": "run random 4KiB 70/30, qd 4 for 2s",
    "threads": "run random 4KiB 100/0, threads 2, qd 4 each for 2s",
    "size distribution": "run random sizes { 4KiB 50%, 8KiB 50% } 100/0 for 2s",
    "sizes by direction": "run random read sizes { 4KiB 100% } "
    "write sizes { 8KiB 100% } 50/50 for 2s",
    "several streams": "run mixed for 2s",
    "rate": "run random 4KiB 100/0, rate 1_000 iops for 2s",
    "rate poisson": "run random 4KiB 100/0, rate 1_000 iops poisson for 2s",
    "region": "run random 4KiB 100/0, region 0%..50% for 2s",
    "hotspots": "run random 4KiB 100/0, hotspots { 50% in 5%, 50% in 95% } for 2s",
    "zipf": "run random 4KiB 100/0, zipf 1.2 for 2s",
    "pareto": "run random 4KiB 100/0, pareto 0.2 for 2s",
    "normal": "run random 4KiB 100/0, normal 10% for 2s",
    "align": "run random 4KiB 100/0, align 512B for 2s",
    "data compressible": "run random 4KiB 0/100, data compressible 50% for 2s",
    "trim": "run random 4KiB 50/50, trim 10% for 2s",
    "sync": "run random 4KiB 0/100, sync every 32 for 2s",
    "verify": "run random 4KiB 50/50, verify for 2s",
    "warmup": "run random 4KiB 100/0 for 2s, warmup 1s",
    "parts of a second": "run random 4KiB 100/0 for 250ms",
    "passes": "run random 4KiB 0/100, 1 pass",
    "bytes": "run random 4KiB 100/0 for 1GiB",
}
MIXED = (
    "workload mixed { reader = random 4KiB 100/0, qd 1 "
    "writer = sequential 128KiB 0/100, qd 4 }\n"
)
SAMPLE = TargetFacts(
    path="sample", kind="file", capacity_bytes=1 << 34, block_bytes=512
)


def answer(backend: Backend, options: dict[str, Any], feature: str) -> Answer:
    """How well a backend can do a feature of the language."""
    text = f'{MIXED}test "T" {{ {FEATURES[feature]} }}'
    plan = check(Source(feature, text))
    ((_, job),) = all_jobs(unfold(plan), SAMPLE, read_only=False)
    gaps = backend.gaps(job, options)
    if not gaps:
        return "exactly"
    return "nearly" if all(gap.instead for gap in gaps) else "no"
