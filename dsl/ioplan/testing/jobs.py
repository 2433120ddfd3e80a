"""Jobs for a target, of which a test names only what it is about."""

from __future__ import annotations

from typing import Any, NamedTuple

from ioplan.backends import TargetFacts
from ioplan.job import Job, JobStream
from ioplan.language.checker import check
from ioplan.language.source import Source
from ioplan.planner.jobs import all_jobs
from ioplan.planner.unfold import unfold
from ioplan.runner.features import FEATURES, MIXED
from ioplan.workload import SizeShare

MS_NS = 1_000_000


class Times(NamedTuple):
    """How long the kit's runs are, and how often one tells of itself."""

    run_ns: int = 200 * MS_NS
    warmup_ns: int = 100 * MS_NS
    interval_ns: int = 50 * MS_NS


SHORT = Times()
SLACK_NS = 50 * MS_NS
"""What a loaded machine may add to a run."""
BLOCK_BYTES = 4096
WORK_BYTES = 4 << 20
"""How much of the target a test by bytes or passes works on."""

SPREADS = ("hotspots", "zipf", "pareto", "normal")
"""Features that are measured by what few writes have changed."""
DRAWS = 1024


def sizes(**percents: float) -> tuple[SizeShare, ...]:
    """`sizes(b4096=60, b65536=40)`."""
    return tuple(
        SizeShare(size_bytes=int(name[1:]), percent=percent)
        for name, percent in percents.items()
    )


def stream(facts: TargetFacts, **fields: Any) -> JobStream:
    """Random 4 KiB reads on the whole target, but for what is given."""
    usual = {
        "pattern": "random",
        "read_percent": 100,
        "read_sizes": sizes(b4096=100),
        "write_sizes": sizes(b4096=100),
        "region_start_bytes": 0,
        "region_end_bytes": facts.capacity_bytes // BLOCK_BYTES * BLOCK_BYTES,
    }
    return JobStream(**{**usual, **fields})


def job(
    facts: TargetFacts, *streams: JobStream, times: Times = SHORT, **fields: Any
) -> Job:
    """A short run, but for what is given; by time unless it has another limit."""
    usual: dict[str, Any] = {
        "target": facts.path,
        "capacity_bytes": facts.capacity_bytes,
        "block_bytes": facts.block_bytes,
        "streams": streams or (stream(facts),),
        "interval_ns": times.interval_ns,
        "read_only": not any(one.writes for one in streams),
    }
    if not fields.keys() & {"run_ns", "limit_bytes", "passes"}:
        usual["run_ns"] = times.run_ns
    return Job(**{**usual, **fields})


def feature_job(facts: TargetFacts, feature: str, times: Times = SHORT) -> Job:
    """A feature of the language as `ioplan backends` asks for it, made short."""
    text = f'{MIXED}test "T" {{ {FEATURES[feature]} }}'
    ((_, asked),) = all_jobs(unfold(check(Source(feature, text))), facts, False)
    short: dict[str, Any] = {
        "interval_ns": times.interval_ns,
        "warmup_ns": min(asked.warmup_ns, times.warmup_ns),
        "read_only": not any(one.writes for one in asked.streams),
    }
    if asked.run_ns:
        short["run_ns"] = min(asked.run_ns, times.run_ns)
    if asked.limit_bytes:
        short["limit_bytes"] = min(asked.limit_bytes, WORK_BYTES)
    if feature in SPREADS:
        writing = asked.streams[0].model_copy(update={"read_percent": 0.0})
        short["streams"], short["read_only"] = (writing,), False
        short["run_ns"], short["limit_bytes"] = None, DRAWS * BLOCK_BYTES
    if asked.passes:
        first = asked.streams[0].model_copy(update={"region_end_bytes": WORK_BYTES})
        short["streams"] = (first,)
    return asked.model_copy(update=short)


def odd_jobs(facts: TargetFacts, times: Times = SHORT) -> dict[str, Job]:
    """Jobs that no plan makes, or that fit another target than this one."""
    plain, end = job(facts, times=times), facts.capacity_bytes
    beyond = {"region_start_bytes": end, "region_end_bytes": 2 * end}
    tiny = {"region_end_bytes": facts.block_bytes}
    part = sizes(b1000=100)
    odd: dict[str, dict[str, Any]] = {
        "no streams": {"streams": ()},
        "no limit": {"run_ns": None},
        "a region beyond the end": {"streams": (stream(facts, **beyond),)},
        "a region smaller than an I/O": {"streams": (stream(facts, **tiny),)},
        "sizes that are no blocks": {"streams": (stream(facts, read_sizes=part),)},
        "a target that is not there": {"target": f"{facts.path}-is-not-there"},
    }
    return {name: plain.model_copy(update=fields) for name, fields in odd.items()}


ODD = (
    *("no streams", "no limit", "a region beyond the end"),
    *("a region smaller than an I/O", "sizes that are no blocks"),
)
