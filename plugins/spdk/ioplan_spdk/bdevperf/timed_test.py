"""A test of bdevperf: asked for, watched by its statistics, and its result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ioplan.backends import (
    SECOND_NS,
    Bins,
    CountsBuilder,
    Cpu,
    Direction,
    Event,
    Progress,
    Result,
    StreamCounts,
    no_bins,
)
from ioplan_spdk.bdevperf.device_statistics import LOOK_S, DeviceStatistics, Schedule
from ioplan_spdk.bdevperf.exits import why
from ioplan_spdk.bdevperf.meter import Meter
from ioplan_spdk.bdevperf.outcome import Outcome, UnsoundTest, checked_outcome
from ioplan_spdk.bdevperf.script import Script
from ioplan_spdk.bdevperf.session import BdevperfError, Session
from ioplan_spdk.bdevperf.ticks import JobText, printed, printed_jobs
from ioplan_spdk.rpc.client import Client

POLL_S = 0.2
"""How often a hang is looked for."""


class TimedTest:
    """One test, the warm-up or the one that counts. Iterating it raises
    BdevperfError, UnsoundTest, RpcFault, BadReply."""

    def __init__(
        self, session: Session, main: Client, side: Client, script: Script, warmup: bool
    ) -> None:
        """`main` is asked for the test, `side` meanwhile for its statistics."""
        self.session, self.main, self.script = session, main, script
        self.warmup = warmup
        self.request = script.warmup if warmup else script.test
        self.statistics = DeviceStatistics(side, script)
        self.meter = Meter(script.stream, script.size_bytes, script.shares)
        self.limit_reached = False

    def run(self, interval_ns: int) -> Iterator[Event]:
        """All but the warm-up ends in a Result."""
        before = self.session.process.cpu()
        self.start_s = time.monotonic()
        number = self.main.send("perform_tests", self.request)
        yield from self._watch(interval_ns)
        reply = self.main.receive(number)
        over_ns = round((time.monotonic() - self.start_s) * SECOND_NS)
        cpu = _used(before, self.session.process.cpu())
        ended = self.session.stopped or self.limit_reached
        outcome = checked_outcome(reply, self.request, ended)
        if not self.warmup:
            yield from self._result(outcome, cpu, over_ns)

    def _watch(self, interval_ns: int) -> Iterator[Progress]:
        """Look at the statistics until the test replies."""
        test_s = self.request["time_in_sec"]
        self.session.expect_end(test_s + self.session.options.patience_s)
        by_bytes = self.script.limit_bytes is not None
        schedule = Schedule(interval_ns / SECOND_NS, test_s, by_bytes)
        while not self.main.ready(min(self._poll_s, schedule.next_s - self._t_s)):
            self._check_hang()
            self.statistics.mixed.switch()
            if self._t_s < schedule.next_s:
                continue
            self.statistics.poll(self.meter)
            self._check_bytes()
            t_s = self._t_s
            if schedule.passed(t_s):
                yield self.meter.progress(round(t_s * SECOND_NS), self.warmup)

    @property
    def _poll_s(self) -> float:
        return POLL_S if self.statistics.mixed.is_switched else LOOK_S

    @property
    def _t_s(self) -> float:
        return time.monotonic() - self.start_s

    def _check_hang(self) -> None:
        if time.monotonic() < self.session.deadline_s:
            return
        self.session.process.end()
        raise BdevperfError(
            "hung",
            "bdevperf did not end its test in time and was killed; its target may "
            "have gone away",
        )

    def _check_bytes(self) -> None:
        limit = self.script.limit_bytes
        if limit is None or self.warmup or self.limit_reached:
            return
        if self.meter.bytes >= limit:
            self.limit_reached = True
            self.session.end_test()

    def _result(self, outcome: Outcome, cpu: Cpu, over_ns: int) -> Iterator[Event]:
        """bdevperf has printed all before it replies. Its time begins after ours: where
        its end lies before our last look, the last interval ends with its reply,
        `over_ns` after the request."""
        counters, layer_ns = self.statistics.final()
        text, code = self._printed(), 0
        is_over = self.session.stopped or self.limit_reached
        if is_over or (outcome.ios and not (text and text.buckets)):
            code = self.session.process.end() or 0
            text = self._printed()
        totals = self.meter.finish(outcome, counters, self._bins(text, counters))
        if code:
            reason = why(code, self.session.process.messages())
            raise UnsoundTest("backend-died", f"bdevperf ended badly: {reason}")
        is_later = outcome.run_ns > self.meter.last_ns
        last = self.meter.progress(outcome.run_ns if is_later else over_ns, False)
        if last.streams[0].directions:
            yield last
        final = self._final(outcome, totals, text, cpu)
        yield final.model_copy(update={"facts": final.facts | self._layers(layer_ns)})

    def _layers(self, layer_ns: float | None) -> dict[str, Any]:
        """What is stacked on the target's device to measure with, and what it costs."""
        if not self.script.layers:
            return {}
        cost = {} if layer_ns is None else {"layer_ns": round(layer_ns, 1)}
        return {"layers": self.script.layers, **cost}

    def _printed(self) -> JobText | None:
        tests = printed_jobs(self.session.process.output())
        done = [jobs[0] for jobs in tests if jobs]
        return done[-1] if done else None

    def _bins(
        self, text: JobText | None, ends: Mapping[Direction, CountsBuilder]
    ) -> dict[Direction, Bins]:
        """The printed histogram, by the direction that it is of."""
        direction = self.script.printed
        if direction is None:
            return {}
        if text is None:
            return {direction: no_bins()}
        bins = printed(text.buckets, self.statistics.tick_rate or SECOND_NS)
        if not self.script.switched:
            return {direction: bins}
        mixed = self.statistics.mixed
        if direction not in ends:
            return {direction: mixed.without_foreign(bins)}
        own = mixed.own(bins, ends[direction])
        if warning := mixed.warning(ends[direction].ios):
            self.meter.warnings.append(warning)
        return {direction: own}

    def _final(
        self, outcome: Outcome, totals: StreamCounts, text: JobText | None, cpu: Cpu
    ) -> Result:
        facts: dict[str, Any] = {
            "status": outcome.status,
            "estimated_ios": self.meter.tail_ios + self.statistics.mixed.foreign_ios,
            **({} if self.script.switched else _told(outcome, text)),
        }
        return Result(
            run_ns=outcome.run_ns,
            stopped=self.session.stopped,
            streams=(totals,),
            cpu=cpu,
            warnings=tuple(self.meter.warnings),
            facts=facts,
        )


def _told(outcome: Outcome, text: JobText | None) -> dict[str, Any]:
    """bdevperf's own figures; of a mix they are of one direction, and its mean of
    none."""
    percentiles = text.percentiles_us if text else {}
    return {
        "mean_us": outcome.mean_ns / 1000,
        "percentiles_us": {f"{p:g}": us for p, us in percentiles.items()},
    }


def _used(before: Cpu, after: Cpu) -> Cpu:
    """CPU time in between; a process that is gone has told nothing."""
    return Cpu(
        user_ns=max(0, after.user_ns - before.user_ns),
        system_ns=max(0, after.system_ns - before.system_ns),
    )
