"""A drive of two constants, in virtual time: a whole suite of hours in a second.

I/O takes 100 us, until the bandwidth is used up. Nothing about it is ever unsteady.
"""

from sessions import session
from virtual import VirtualBackend, VirtualDrive, VirtualExecution

from ioplan.job import (
    SECOND_NS,
    Counts,
    Progress,
    Result,
    Started,
    StreamCounts,
)
from ioplan.planner import summary_of
from ioplan.results.measure import bucket_index
from ioplan.results.store import Store
from ioplan.runner import SessionContext, SessionRunner

LATENCY_S, BYTES_PER_S, CAPACITY_BYTES = 100e-6, 2e9, 256 << 30
LONGEST_NS = 60 * SECOND_NS
"""Of an interval."""


class IdealExecution(VirtualExecution):
    """A run, in intervals of a minute at most."""

    def __init__(self, job):
        (self.stream,), self.job = job.streams, job
        oio = self.stream.qd * self.stream.threads
        self.iops = min(oio / LATENCY_S, BYTES_PER_S / _mean(self.stream.write_sizes))
        self.latency_ns = round(oio / self.iops * SECOND_NS)

    def __iter__(self):
        yield Started(mode="ideal")
        run_ns, t_ns = self._run_ns(), 0
        while t_ns < run_ns and not self.stopped:
            interval_ns = min(LONGEST_NS, run_ns - t_ns)
            t_ns += interval_ns
            counts = (self._counts(interval_ns),)
            yield Progress(t_ns=t_ns, interval_ns=interval_ns, streams=counts)
        yield Result(
            run_ns=t_ns, stopped=self.stopped, streams=(self._counts(t_ns, t_ns),)
        )

    def _run_ns(self):
        """The first of the limits."""
        job, size = self.job, _mean(self.stream.write_sizes)
        most = [job.limit_bytes] if job.limit_bytes else []
        most += [round(job.passes * _region_bytes(self.stream))] if job.passes else []
        limits = [job.run_ns] if job.run_ns else []
        limits += [-int(-one / size / self.iops * SECOND_NS // 1) for one in most]
        return min(limits)

    def _counts(self, length_ns, until_ns=0):
        """Whole I/Os; those of a run are the sum of its intervals."""
        whole, rest = divmod(until_ns, LONGEST_NS)
        parts = [LONGEST_NS] * whole + [rest] if until_ns else [length_ns]
        ios = sum(self._ios(part) for part in parts)
        reads = round(ios * self.stream.read_percent / 100)
        if until_ns:
            reads = sum(
                round(self._ios(part) * self.stream.read_percent / 100)
                for part in parts
            )
        by = {"read": reads, "write": ios - reads}
        made = {name: self._made(count) for name, count in by.items() if count}
        return StreamCounts(name=self.stream.name, directions=made)

    def _ios(self, length_ns):
        return round(self.iops * length_ns / SECOND_NS)

    def _made(self, ios):
        at = self.latency_ns
        return Counts(
            ios=ios,
            bytes=round(ios * _mean(self.stream.write_sizes) / 512) * 512,
            min_ns=at,
            max_ns=at,
            sum_ns=ios * at,
            sum_sq_ns2=float(ios) * at * at,
            bins=(bucket_index(at), ios),
        )


def _mean(sizes):
    return sum(share.size_bytes * share.percent for share in sizes) / 100


def _region_bytes(stream):
    return stream.region_end_bytes - stream.region_start_bytes


class IdealDrive(VirtualDrive):
    def start(self, job):
        return IdealExecution(job)


def performed(plan, folder, id="s1", store=None, **host):
    """A store with a session of all of a plan; `host` are facts of the target."""
    store = store or Store.open(folder / f"{id}.db")
    made = session(id, plan=plan.title, plan_text=plan.text, host={"target": {**host}})
    context = SessionContext(
        plan=plan,
        backend=VirtualBackend(),
        drive=IdealDrive("ideal", CAPACITY_BYTES),
        store=store,
        session=made,
        summary=summary_of(plan),
    )
    outcome = SessionRunner(context).run()
    assert not outcome.failures, outcome.failures
    return store, store.session(id)
