"""Runs on simulated drives, for tests of the model."""

from copy import deepcopy
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np
import paths

from ioplan import job_streams
from ioplan.backends import TargetFacts
from ioplan.job import Job, Progress, Result
from ioplan.workload import DIRECTIONS, SizeShare, Stream, Workload
from ioplan_sim.execution import SimExecution
from ioplan_sim.flash import Flash
from ioplan_sim.spec import EXTRA_BLOCKS, Geometry, read_spec
from ioplan_sim.ssd import Ssd

P, Drive = ParamSpec("P"), TypeVar("Drive")
SECOND_NS = 10**9
DRIVES = paths.ROOT / "examples/sim"


def size(size_bytes, percent=100):
    return (SizeShare(size_bytes=size_bytes, percent=percent),)


def stream(size_bytes=4096, **fields):
    """Random reads, but for what is given."""
    usual = {"pattern": "random", "read_percent": 100}
    sizes = {"read_sizes": size(size_bytes), "write_sizes": size(size_bytes)}
    return Stream(**{**usual, **sizes, **fields})


WRITES = stream(read_percent=0, qd=64)
FILL = stream(128 << 10, read_percent=0, pattern="sequential", qd=32)


def made_once(make):
    """Each call has a drive of its own, as it was made by the first one."""
    made = cache(make)

    @wraps(make)
    def copied(*args, **more):
        return deepcopy(made(*args, **more))

    return copied


class Bench:
    """A drive and what was done on it. `most_pages` bounds its model."""

    def __init__(self, spec, capacity_bytes, most_pages=1 << 18):
        self.device = Ssd(spec, capacity_bytes, most_pages)
        self.facts = TargetFacts(
            path="sim", kind="simulated", capacity_bytes=capacity_bytes, block_bytes=512
        )

    @classmethod
    def of(cls, name):
        """A drive of the examples."""
        spec = read_spec(str(DRIVES / f"{name}.toml"))
        assert spec.capacity
        return cls(spec, spec.capacity)

    def run(self, *streams, **limits):
        """A run, of a second unless it has another limit."""
        capacity, fields = self.facts.capacity_bytes, limits or {"run_ns": SECOND_NS}
        job = Job(
            target="sim",
            capacity_bytes=capacity,
            block_bytes=512,
            streams=job_streams(Workload(streams=streams), capacity, 512),
            read_only=False,
            **fields,
        )
        with SimExecution(job, self.facts, self.device) as execution:
            _, *series, result = execution
        assert isinstance(result, Result)
        return result, [one for one in series if isinstance(one, Progress)]

    def iops(self, *streams, **limits):
        return iops(self.run(*streams, **limits)[0])

    def latency_ns(self, *streams):
        return mean_ns(self.run(*streams)[0])


@made_once
def filled(name):
    """A drive of the examples that was written once, in order."""
    bench = Bench.of(name)
    bench.run(FILL, passes=1)
    return bench


def counts(event, place=0):
    """What was read, written and trimmed by one of the streams."""
    of = event.streams[place].directions
    return [of[direction] for direction in DIRECTIONS if direction in of]


def iops(event, place=None):
    """Of all streams, or of one."""
    time_ns = event.run_ns if isinstance(event, Result) else event.interval_ns
    places = range(len(event.streams)) if place is None else (place,)
    return sum(c.ios for one in places for c in counts(event, one)) * 1e9 / time_ns


def mean_ns(event, place=0):
    done = counts(event, place)
    return sum(one.sum_ns for one in done) / sum(one.ios for one in done)


def moved_bytes(event, place=0):
    return sum(one.bytes for one in counts(event, place))


def amplification(over, block_pages, pages=1 << 17, seed=1):
    """Of the map alone: uniform random writes of single pages, in steady state.

    `over` is the over-provisioning as a share of what the host sees.
    """
    rng, host = np.random.default_rng(seed), int(pages / (1 + over))
    blocks = -(-int(host * (1 + over)) // block_pages) + EXTRA_BLOCKS
    flash = Flash(Geometry(host, blocks, block_pages, 1.0, 1.0, 0))
    flash.write(np.arange(host), 1)
    for _ in range(30):
        flash.write(rng.integers(host, size=host // 10), 1)
    written, programmed = flash.host_pages, flash.programmed_pages
    for _ in range(30):
        flash.write(rng.integers(host, size=host // 10), 1)
    return (flash.programmed_pages - programmed) / (flash.host_pages - written)


def spare_drive(pages, spare_percent, block_pages=64):
    """So many pages of one to one, with blocks beyond them."""
    blocks = -(-int(pages * (1 + spare_percent / 100)) // block_pages) + EXTRA_BLOCKS
    return Geometry(pages, blocks, block_pages, 1.0, 1.0, 0)
