"""Lies over a true backend: each is found, by the clause that it is about."""

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest
from wrapped import Wrapped, WrappedDrive

from ioplan.backends import TargetRequest, find
from ioplan.job import Counts, Job, Progress, Result, StreamCounts
from ioplan.workload import Data, Uniform
from ioplan_testing import Conformance, Times, sizes

pytestmark = [pytest.mark.slow, pytest.mark.machine]

ATTEMPTS, RUN_NS = 4, 1_500_000_000


class Lie(NamedTuple):
    """What is done instead, what is told of it, and how it is found."""

    case: str
    found: str
    does: Callable[[Job], Job]
    tells: Callable[[StreamCounts], StreamCounts] = lambda stream: stream


def instead(**fields):
    def changed(job):
        streams = tuple(one.model_copy(update=fields) for one in job.streams)
        return job.model_copy(update={"streams": streams})

    return changed


def with_rate(**fields):
    def changed(job):
        rate = job.streams[0].rate
        assert rate
        return instead(rate=rate.model_copy(update=fields))(job)

    return changed


def with_syncs(stream):
    writes = stream.directions.get("write", Counts()).ios
    return stream.model_copy(update={"sync_ios": writes // 8})


def with_verified(stream):
    reads = stream.directions.get("read", Counts()).bytes
    return stream.model_copy(update={"verified_bytes": reads})


def without_errors(stream):
    return stream.model_copy(update={"verify_errors": 0})


def told_30_percent(stream):
    """The counts that were asked, whatever was done."""
    both = list(stream.directions.values()) or [Counts()]
    total = sum(one.ios for one in both)
    reads = round(0.3 * total)
    parts = {"read": reads, "write": total - reads}
    told = {
        name: both[0].model_copy(update={"ios": ios, "bytes": ios * 4096})
        for name, ios in parts.items()
    }
    return stream.model_copy(update={"directions": told})


def scaled(by, *names):
    """The same counts in another measure."""

    def told(stream):
        parts = {
            direction: one.model_copy(
                update={name: round(by * getattr(one, name)) for name in names}
            )
            for direction, one in stream.directions.items()
        }
        return stream.model_copy(update={"directions": parts})

    return told


EVERYWHERE = {"region_start_bytes": 0, "region_end_bytes": 64 << 20}
BELOW = {"region_start_bytes": 16 << 20, "region_end_bytes": 20 << 20}
LIES = {
    "sequential reads at random": Lie("sequential reads", "order", instead(pattern="random")),
    "random reads in sequence": Lie("reads", "order", instead(pattern="sequential")),
    "zipf reads uniform": Lie("zipf", "distribution", instead(distribution=Uniform())),
    "hotspots uniform": Lie("hotspots", "distribution", instead(distribution=Uniform())),
    "Poisson at a fixed rate": Lie("rate poisson", "arrivals", with_rate(arrivals="fixed")),
    "a fixed rate as Poisson": Lie("rate", "arrivals", with_rate(arrivals="poisson")),
    "gamma arrivals as Poisson": Lie("rate gamma", "arrivals", with_rate(arrivals="poisson")),
    "half the rate": Lie("rate", "rate", with_rate(iops=200)),
    "zeros written random": Lie("data zeros", "data", instead(data=Data(kind="random"))),
    "noise written as zeros": Lie("data random", "data", instead(data=Data(kind="zeros"))),
    "compressible data random": Lie("data compressible", "data", instead(data=Data())),
    "no data repeats": Lie("dedup", "dedup", instead(dedup_percent=0)),
    "syncs counted, not done": Lie("sync", "sync", instead(sync_every=None), with_syncs),
    "syncs seldom": Lie("sync", "sync", instead(sync_every=16), with_syncs),
    "verifies counted, not done": Lie("verify", "verify wrong data", instead(verify=False), with_verified),
    "verify errors hidden": Lie("verify", "verify wrong data", instead(), without_errors),
    "two threads as one": Lie("threads", "threads", instead(threads=1, qd=8)),
    "two threads as one, shallow": Lie("threads", "depth", instead(threads=1)),
    "half the depth": Lie("reads", "depth", instead(qd=8)),
    "35 % in place of 30 %": Lie("reads 30 %", "read share", instead(read_percent=35)),
    "35 % told as 30 %": Lie("reads 30 %", "read share", instead(read_percent=35), told_30_percent),
    "reads of a larger region": Lie("region", "region", instead(**EVERYWHERE)),
    "reads of half the region": Lie("region", "distribution", instead(**BELOW)),
    "one size of three": Lie("sizes", "read size", instead(read_sizes=sizes(b4096=100))),
    "no trims": Lie("trim", "trim share", instead(trim_percent=0)),
    "half the latency": Lie("reads", "read latency", instead(), scaled(0.5, "sum_ns")),
    "twice the I/Os": Lie("reads", "read count", instead(), scaled(2, "ios", "bytes")),
}  # fmt: skip


class LyingExecution(Wrapped):
    def __init__(self, drive, job, lie):
        super().__init__(drive.start(lie.does(job)))
        self.lie = lie

    def events(self, event):
        if isinstance(event, Progress | Result):
            told = tuple(map(self.lie.tells, event.streams))
            event = event.model_copy(update={"streams": told})
        yield event


class LyingBackend:
    def __init__(self, lie):
        self.lie, self.inner = lie, find("io_uring")

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def open(self, request):
        opened = self.inner.open(request)
        return WrappedDrive(opened, lambda one, job: LyingExecution(one, job, self.lie))


class Kit(Conformance):
    __test__ = False

    def __init__(self, backend):
        self._backend = backend

    def backend(self):
        return self._backend

    def request(self, folder):
        return TargetRequest(path=f"{folder}/t", create_bytes=8 << 20, writes=True)


def said_of(kit, case, folder):
    """What the kit's check says of a case; empty if it passes."""
    try:
        kit._check_case(case, folder)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.long_but_first
@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_found_by_its_clause(name, tmp_path):
    """A busy host does few I/Os, which tell little: then the run is a longer one."""
    lie, said = LIES[name], []
    kit = Kit(LyingBackend(lie))
    kit._has_a_device(tmp_path)
    for attempt in range(ATTEMPTS):
        kit.times = Times(run_ns=RUN_NS << attempt)
        said.append(said_of(kit, lie.case, tmp_path / f"{attempt}"))
        if re.search(rf"not as asked: .*\b{lie.found}: asked", said[-1]):
            return
    raise AssertionError(said)


def test_the_kit_says_why_it_leaves_out(tmp_path):
    with pytest.raises(pytest.skip.Exception, match="its I/O is simulated"):
        Kit(find("sim"))._has_a_device(tmp_path)
