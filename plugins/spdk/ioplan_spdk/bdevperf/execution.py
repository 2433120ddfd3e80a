"""One run: a bdevperf is started, told, watched, and ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioplan.core.context import Closing
from ioplan.job import (
    SECOND_NS,
    Cpu,
    Event,
    Failure,
    Job,
    Progress,
    Result,
    Started,
    StreamCounts,
)
from ioplan.measure.tally import Bins, CountsBuilder, no_bins
from ioplan.workload import Direction
from ioplan_spdk.bdevperf.exits import why
from ioplan_spdk.bdevperf.histogram_text import JobText, printed_jobs
from ioplan_spdk.bdevperf.iostat import counters
from ioplan_spdk.bdevperf.meter import Meter
from ioplan_spdk.bdevperf.schedule import Schedule
from ioplan_spdk.bdevperf.script import Script, asked_of, native, resets, script_of
from ioplan_spdk.bdevperf.session import Died, Session
from ioplan_spdk.bdevperf.ticks import dense, printed
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.rpc.reply import BadReply, number
from ioplan_spdk.rpc.rpc import Client, RpcError, RpcFault, RpcTimeout
from ioplan_spdk.verdict import Unsound, Verdict, verdict

LOOK_S = 0.2
"""How often a hang is looked for."""


class SpdkExecution(Closing):
    """A run under way. Iterate once."""

    def __init__(
        self, program: Path, options: SpdkOptions, job: Job, folder: Path | None = None
    ) -> None:
        self.options, self.job = options, job
        self.script: Script = script_of(job, options)
        self.session: Session | None = None
        self.program, self.folder = program, folder
        self.stopped = self.enough = False
        self.give_up = float("inf")
        self.blind = False
        self.tick_rate = 0.0
        try:
            self.session = self._session()
        except Died as died:
            self.failed: Died | None = died
        else:
            self.failed = None

    def _session(self) -> Session:
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = native(self.job, self.options)
            (self.folder / "native.txt").write_text(text + "\n")
        script = self.script
        return Session(
            self.program,
            self.options,
            script.run_on,
            script.pci,
            script.extra,
            self.folder,
        )

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure; whatever goes wrong is a Failure."""
        if self.session is None:
            assert self.failed
            yield Failure(cause=self.failed.cause, message=str(self.failed))
            return
        try:
            yield from self._run(self.session)
        except (Died, Unsound, RpcFault, BadReply) as error:
            yield self._ended(self.session, error)

    def stop(self) -> None:
        """SIGTERM: the test ends, and tells what it did."""
        self.stopped = True
        self._finish_now()

    def kill(self) -> None:
        """SIGKILL."""
        self.stopped = True
        if self.session:
            self.session.process.kill()

    def _finish_now(self) -> None:
        """Some hangs ignore SIGTERM, so it is not waited for without an end."""
        if self.session:
            process = self.session.process
            self.give_up = min(self.give_up, time.monotonic() + process.grace_s)
            process.stop()

    def close(self) -> None:
        """Leave no process behind."""
        if self.session:
            self.session.close()

    def _ended(self, session: Session, error: Exception) -> Event:
        """A run that came to no figures."""
        if self.stopped and _is_its_end(error):
            return Result(run_ns=0, stopped=True, streams=())  # before it had begun
        if isinstance(error, RpcFault):
            error = session.fault(error)
        if isinstance(error, BadReply):
            return Failure(cause="backend-garbage", message=f"bdevperf: {error}")
        said = session.process.messages()
        message = str(error)
        if isinstance(error, Unsound) and error.cause == "device-error":
            message += f"; {why(session.process.code, said)}"
        return Failure(cause=getattr(error, "cause", "backend-died"), message=message)

    def _run(self, session: Session) -> Iterator[Event]:
        main = session.connect()
        side = session.connect()
        side.timeout_s = min(side.timeout_s, self.options.patience_s)
        session.tell(main, self.script.calls)
        yield self._started(main, session)
        if self.script.warmup_s and not self.stopped:
            yield from self._test(session, main, side, self.script.warmup, warmup=True)
        for call in resets(self.script):
            side.call(call.method, call.params)
        yield from self._test(session, main, side, self.script.test, warmup=False)

    def _started(self, main: Client, session: Session) -> Started:
        found = main.call("spdk_get_version")
        version = found.get("version", "") if isinstance(found, dict) else ""
        return Started(
            mode=f"bdevperf on {self.script.place.kind}",
            reason="without hugepages" if self.options.no_huge else "",
            facts={
                "spdk": str(version),
                "command": " ".join(session.arguments),
                "bdev": self.script.run_on,
            },
        )

    def _test(
        self,
        session: Session,
        main: Client,
        side: Client,
        asked: dict[str, Any],
        warmup: bool,
    ) -> Iterator[Event]:
        """One test of it; all but the warm-up ends in a Result."""
        meter = self._meter()
        cpu = session.process.cpu()
        asked_at = time.monotonic()
        request = main.send("perform_tests", asked)
        yield from self._watch(main, side, meter, asked, asked_at, warmup)
        reply = main.receive(request)
        over_ns = round((time.monotonic() - asked_at) * SECOND_NS)
        cpu = _used(cpu, session.process.cpu())
        found = verdict(reply, asked, ended=self.stopped or self.enough)
        if not warmup:
            ends = self._ends(side)
            yield from self._result(session, meter, found, ends, cpu, over_ns)

    def _meter(self) -> Meter:
        script = self.script
        return Meter(script.stream, script.size_bytes, script.shares)

    def _watch(
        self,
        main: Client,
        side: Client,
        meter: Meter,
        asked: dict[str, Any],
        asked_at: float,
        warmup: bool,
    ) -> Iterator[Progress]:
        """Look at the statistics until the test replies. Raises Died for a hang."""
        self.give_up = asked_at + asked["time_in_sec"] + self.options.patience_s
        interval_s = self.job.interval_ns / SECOND_NS
        by_bytes = self.script.limit_bytes is not None
        schedule = Schedule(interval_s, asked["time_in_sec"], by_bytes)
        while not main.ready(
            min(LOOK_S, asked_at + schedule.next_s - time.monotonic())
        ):
            self._check_hang()
            if time.monotonic() - asked_at < schedule.next_s:
                continue
            self._poll(side, meter)
            if not warmup:
                self._check_bytes(meter)
            t_s = time.monotonic() - asked_at
            if schedule.passed(t_s):
                yield meter.progress(round(t_s * SECOND_NS), warmup)

    def _check_hang(self) -> None:
        if time.monotonic() < self.give_up:
            return
        assert self.session
        self.session.process.end()
        raise Died(
            "hung",
            "bdevperf did not end its test in time and was killed; its target may "
            "have gone away",
        )

    def _check_bytes(self, meter: Meter) -> None:
        limit = self.script.limit_bytes
        if limit is not None and meter.bytes >= limit and not self.enough:
            self.enough = True
            self._finish_now()

    def _poll(self, side: Client, meter: Meter) -> None:
        """What is so at one moment. A late reply costs a point, not the run."""
        if self.blind:
            return
        try:
            replies = side.call_together(asked_of(self.script))
            pairs = zip(replies[::2], replies[1::2], strict=True)
            for probe, (iostat, bins) in zip(
                self.script.probes.items(), pairs, strict=True
            ):
                meter.update(probe[0], self._counters(iostat, *probe), _bins(bins))
        except RpcTimeout:
            return
        except RpcFault as fault:
            # Its end is told by the test's own connection.
            if isinstance(fault, RpcError):
                meter.warnings.append(f"no statistics from then on: {fault}")
            self.blind = True

    def _counters(self, reply: Any, direction: Direction, name: str) -> CountsBuilder:
        if isinstance(reply, RpcError):
            raise reply
        self.tick_rate = float(number(reply, "tick_rate"))
        return counters(reply, name, direction)

    def _ends(self, side: Client) -> dict[Direction, CountsBuilder]:
        """The final counters; a process that was told to end has none left."""
        try:
            return {
                d: self._counters(side.call("bdev_get_iostat", {"name": n}), d, n)
                for d, n in self.script.probes.items()
            }
        except (RpcFault, BadReply):
            return {}

    def _result(
        self,
        session: Session,
        meter: Meter,
        found: Verdict,
        ends: dict[Direction, CountsBuilder],
        cpu: Cpu,
        over_ns: int,
    ) -> Iterator[Event]:
        """End the process, as only then all that it printed can be read.

        bdevperf's time begins after ours: where its end lies before our last look,
        the last interval ends with its reply, `over_ns` after the request.
        """
        code = session.process.end()
        text = self._printed(session)
        totals = meter.finish(found, ends, self._bins(text))
        if code:
            meaning = why(code, session.process.messages())
            raise Unsound("backend-died", f"bdevperf ended badly: {meaning}")
        is_later = found.run_ns > meter.last_ns
        last = meter.progress(found.run_ns if is_later else over_ns, warmup=False)
        if last.streams[0].directions:
            yield last
        yield self._final(meter, found, totals, text, cpu)

    def _printed(self, session: Session) -> JobText | None:
        done = [jobs[0] for jobs in printed_jobs(session.process.output()) if jobs]
        return done[-1] if done else None

    def _bins(self, text: JobText | None) -> Bins | None:
        if not self.script.prints_probes:
            return None
        if text is None:
            return no_bins()
        return printed(text.buckets, self.tick_rate or SECOND_NS)

    def _final(
        self,
        meter: Meter,
        found: Verdict,
        totals: StreamCounts,
        text: JobText | None,
        cpu: Cpu,
    ) -> Result:
        percentiles = text.percentiles_us if text else {}
        return Result(
            run_ns=found.run_ns,
            stopped=self.stopped,
            streams=(totals,),
            cpu=cpu,
            warnings=tuple(meter.warnings),
            facts={
                "status": found.status,
                "estimated_ios": meter.tail_ios,
                "mean_us": found.mean_ns / 1000,
                "percentiles_us": {f"{p:g}": us for p, us in percentiles.items()},
            },
        )


def _is_its_end(error: Exception) -> bool:
    """Whether the process has gone, as stop() wanted: while it starts, that looks
    like one that cannot start."""
    gone = isinstance(error, Died) and error.cause in ("no-start", "backend-died")
    return gone or isinstance(error, RpcFault)


def _bins(reply: Any) -> Bins | None:
    """Releases without it still give counters."""
    return None if isinstance(reply, RpcError) else dense(reply)


def _used(before: Cpu, after: Cpu) -> Cpu:
    """CPU time in between; a process that is gone has told nothing."""
    return Cpu(
        user_ns=max(0, after.user_ns - before.user_ns),
        system_ns=max(0, after.system_ns - before.system_ns),
    )
