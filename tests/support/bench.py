"""The runner on a drive that plays a script, through the real protocol.

`moment` of the drive and of the store is called wherever something may be made to happen.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from figures import SECOND_NS, counts, stream
from plans import checked
from sessions import session
from virtual import VirtualBackend

from ioplan.backends import TargetFacts, ignore_progress
from ioplan.job import Progress, Result, Started
from ioplan.planner import summary_of
from ioplan.results.store import Store, StoreError
from ioplan.runner import SessionContext, SessionObserver, SessionRunner
from ioplan_sim import SimBackend

READS = 'test "T" { run random 4KiB 100/0 for 2s\n vary qd in 1, 2, 4\n %s }'
FILLED = "precondition filled { purge write random 4KiB, 1 pass }\n"
Log = list[tuple[Any, ...]]
CAPACITY = 1 << 20


class ScriptedExecution:
    """Gives the events of a script, which sees the execution and the job."""

    def __init__(self, drive, job):
        self.drive, self.job, self.stopped = drive, job, False
        self.number = drive.started = drive.started + 1

    @property
    def never_waits(self):
        return not self.drive.waits

    def __iter__(self):
        return self.drive.script(self)

    def stop(self):
        self.stopped = True

    def kill(self):
        self.stopped = True

    def __enter__(self):
        self.drive.open_runs += 1
        return self

    def __exit__(self, *_):
        self.drive.moment("leave")
        self.drive.open_runs -= 1
        self.drive.log.append(("left", self.number))


class ScriptedDrive:
    """A drive; `moment` is called wherever something may be made to happen."""

    def __init__(self, script, log):
        self.script, self.log, self.waits = script, log, False
        self.started = self.open_runs = 0
        self.moment = lambda name: None
        self.facts = TargetFacts(
            path="scripted", kind="file", capacity_bytes=CAPACITY, block_bytes=512
        )

    def start(self, job):
        assert not self.open_runs, "two runs at a time"
        self.moment("start")
        made = ScriptedExecution(self, job)
        self.log.append(("start", made.number))
        return made

    def purge(self, tell=ignore_progress):
        """A stranger may call the parameter what it likes."""
        self.moment("purge")
        tell(0.5)
        self.log.append(("purge",))
        return "wiped"

    def idle(self, pause_ns):
        self.moment("idle")
        self.log.append(("idle", pause_ns))

    def close(self):
        pass


class ScriptedBackend(VirtualBackend):
    name = "scripted"
    speaks = SimBackend.speaks


def done_of(job, ios, per_s):
    """So many I/Os of the job's mix and size, whose latency keeps the queue full."""
    first = job.streams[0]
    latency_ns = int(first.qd * first.threads * 0.8 * SECOND_NS / max(per_s, 1))
    size_bytes = (first.read_sizes if first.read_percent else first.write_sizes)[0]
    reads = round(ios * first.read_percent / 100)
    made = {"read": reads, "write": ios - reads}
    return stream(
        **{
            direction: alike(n, latency_ns, size_bytes.size_bytes)
            for direction, n in made.items()
            if n
        }
    )


def alike(ios, latency_ns, size_bytes):
    """So many I/Os of one size that took equally long."""
    (bucket, _) = counts([latency_ns]).bins
    return counts(
        [latency_ns],
        ios=ios,
        bytes=ios * size_bytes,
        sum_ns=ios * latency_ns,
        sum_sq_ns2=float(ios * latency_ns**2),
        bins=(bucket, ios),
    )


def steady_at(*iops):
    """Each run lasts as long as asked and has the next of these rates."""

    def script(run):
        rate = iops[min(run.number, len(iops)) - 1]
        yield from played(run, rate)

    return script


def played(run, iops, seconds=None):
    """A sound run of one second intervals, or what of it there is until a stop."""
    if seconds is None:
        seconds = (run.job.run_ns or 0) // SECOND_NS or bytes_s(run.job, iops)
    yield Started(mode="scripted", facts={"number": run.number})
    done, most = 0, seconds * iops
    if run.job.passes:
        most = round(run.job.passes * CAPACITY) // 4096
    for second in range(1, seconds + 1):
        if run.stopped:
            break
        done = second
        run.drive.moment("interval")
        yield Progress(
            t_ns=second * SECOND_NS,
            interval_ns=SECOND_NS,
            streams=(done_of(run.job, min(iops, most - (done - 1) * iops), iops),),
        )
    run.drive.moment("last")
    yield Result(
        run_ns=done * SECOND_NS,
        stopped=run.stopped,
        streams=(done_of(run.job, min(most, done * iops), iops),),
    )
    run.drive.moment("after")


def bytes_s(job, iops):
    return max(1, -(-round((job.passes or 0) * CAPACITY) // (4096 * iops)))


class Spy(SessionObserver):
    """Notes all that it is told."""

    def __init__(self, log):
        self.log = log
        self.lefts = []

    def session_started(self, session, total_s):
        self.log.append(("session_started",))
        self.lefts.append(total_s)

    def note(self, text):
        self.log.append(("note", text))

    def step(self, step, number):
        self.log.append(("step", number, str(step)))

    def progress(self, progress, interval, done):
        self.log.append(("progress", done))

    def purged(self, done):
        self.log.append(("purged", done))

    def record(self, record):
        self.log.append(("record", record.seq, record.status))

    def steady(self, steady, round):
        self.log.append(("steady", round, steady.reached))

    def verdict(self, record, verdict):
        self.log.append(("verdict", record.seq, verdict.outcome))

    def eta(self, left_s):
        self.lefts.append(left_s)

    def session_finished(self, status, verdict):
        self.log.append(("session_finished", status))


class SpyStore(Store):
    """Notes what it is given; a full disk lets it do no more."""

    log: Log
    full = False
    moment: Callable[[str], None] = staticmethod(lambda name: None)

    def _heard(self, *what):
        self.moment(what[0])
        if self.full:
            raise StoreError("the store cannot grow, the disk is full")
        self.log.append(what)

    def add(self, record, detail):
        self._heard("add", record.seq)
        return super().add(record, detail)

    def add_verdicts(self, session_id, seq, verdicts):
        self._heard("add_verdicts", seq)
        super().add_verdicts(session_id, seq, verdicts)

    def finish(self, session_id, status, ended_at, unmet=0):
        self._heard("finish", status)
        super().finish(session_id, status, ended_at, unmet)


class Bench:
    """All that a session needs; `go` runs a plan in it."""

    def __init__(self, place):
        self.log = []
        self.store = SpyStore.open(place / "r.db")
        self.store.log = self.log
        self.spy = Spy(self.log)
        self.drive = ScriptedDrive(steady_at(100), self.log)
        self.sessions = 0
        self.context = None

    def go(self, text, script=None, **more):
        self.drive.script = script or self.drive.script
        self.sessions += 1
        plan = checked(text)
        self.context = SessionContext(
            plan=plan,
            backend=ScriptedBackend(),
            drive=self.drive,
            store=self.store,
            session=session(f"s{self.sessions}"),
            summary=summary_of(plan),
            observer=self.spy,
            **more,
        )
        return SessionRunner(self.context).run()

    @property
    def records(self):
        return list(self.store.records(f"s{self.sessions}"))

    @property
    def outcomes(self):
        return Counter(
            one.outcome for record in self.records for one in record.verdicts
        )

    @property
    def status(self):
        return self.store.session(f"s{self.sessions}").status

    def told(self, *kinds):
        return [row for row in self.log if row[0] in kinds]
