"""Whether the figures of a run can be true: what each record passes, whoever made it.

A record tells its counts several times over: by stream, direction, interval and target,
as histograms, extremes and times. A backend that miscounts and a bundle that was edited
contradict themselves, the queue depth (Little's law), the host's clock, or what was
asked. What an import was asked is deduced from its options, so it is judged by its own
figures alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from math import isclose, isfinite
from operator import attrgetter
from typing import Any

from msgspec import Struct

from ioplan.core.error_kinds import Cause
from ioplan.core.error_kinds import FigureFault as Fault
from ioplan.job import SECOND_NS
from ioplan.job_stream import JobStream
from ioplan.records.record import (
    DirectionResult,
    PhaseResult,
    RunDetail,
    RunRecord,
)
from ioplan.results.measure.figure_faults import (
    AMOUNTS,
    BUCKET,
    NOTHING,
    ROUNDING,
    SIGMAS,
    SLACK,
    SLACK_S,
    Findings,
    Part,
    RunChecked,
    StreamChecked,
    is_part,
    merged_faults,
    order_faults,
    rate_faults,
    slots_of,
    sum_faults,
    unequal,
)
from ioplan.results.measure.histogram import BITS, Histogram
from ioplan.results.measure.interval_counts import (
    IntervalCounts,
    IntervalsDamaged,
    IntervalSums,
    Key,
)
from ioplan.results.measure.tally import READ_WRITE, moved
from ioplan.workload import DIRECTIONS, Direction

MOST_CORES = 4096
LATE_S = 1.0
"""So late a report may be on a busy machine; the clock does not judge a later one."""
STALL_S = 1.0
"""So long a device may answer nothing, as when the host's disk is flushed by others."""
START_S = 10.0
"""What a program may need there to start and to end, apart from the time it tells: fio
says that it began before it has read its job."""


class Inconsistency(Struct, frozen=True):
    """A contradiction, and where in the record it is."""

    kind: Fault
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" if self.where else self.text


Contradictions = Iterator[Inconsistency]


def consistent(record: RunRecord, detail: RunDetail) -> RunRecord:
    """The record; `inconsistent`, and without verdicts, if its figures are not true."""
    if record.status != "ok" or not (wrong := faults(record, detail)):
        return record
    more = f" (and {len(wrong) - 1} more contradictions)" if len(wrong) > 1 else ""
    change = {
        "status": "failed",
        "cause": Cause.INCONSISTENT,
        "message": f"the results are inconsistent: {wrong[0]}{more}",
        "verdicts": (),
    }
    return record.model_copy(update=change)


def faults(record: RunRecord, detail: RunDetail) -> list[Inconsistency]:
    """Where the figures contradict each other, or what was asked."""
    if (record.found or record.power_cut) and not record.streams:
        return []  # there are no figures
    return [*Checked(record, detail).faults()]


def _located(where: str, faults: Findings) -> Contradictions:
    return (Inconsistency(kind, where, text) for kind, text in faults)


class Checked(RunChecked):
    """One record while it is checked."""

    sums: dict[Key, IntervalSums] | None = None

    def faults(self) -> Contradictions:
        record = self.record
        yield from self._damaged_histograms()
        yield from _located("", self._damaged_intervals())
        yield from self._sum_faults("", record)
        for name, phase in record.phases.items():
            yield from self._sum_faults(name, phase)
        yield from self._part_faults()
        of_run = self._time_faults(), self._series_faults(), self._cpu_faults()
        yield from _located("", chain(*of_run))
        if not self.is_imported:
            yield from self._asked_faults()

    def _damaged_histograms(self) -> Contradictions:
        for stored in self.detail.histograms:
            key = stored.phase, stored.stream, stored.direction
            try:
                if stored.bits != BITS:
                    raise ValueError(f"no layout has {stored.bits} bits")
                self.histograms[key] = Histogram.of(stored.bins)
            except (ValueError, OverflowError) as error:
                self.histograms[key] = Histogram.of(())
                where = f"{stored.stream} {stored.direction}"
                yield Inconsistency(Fault.HISTOGRAM_BINS, where, str(error))

    def _damaged_intervals(self) -> Findings:
        try:
            packed = IntervalCounts(self.detail.intervals)
            self.sums = packed.sums() if len(packed) else None
        except IntervalsDamaged as error:
            yield Fault.SERIES_SUM, str(error)

    # sums

    def _sum_faults(self, phase: str, run: RunRecord | PhaseResult) -> Contradictions:
        """The figures of a run or of a phase, each as the sum of its parts."""
        where = f"phase {phase} " if phase else ""
        by = defaultdict[Direction, list[Part]](list)
        for stream in run.streams:
            place, run_s = f"{where}{stream.name}", stream.run_s or run.run_s
            parts = {
                direction: (done, self.histograms.get((phase, stream.name, direction)))
                for direction, done in stream.directions.items()
            }
            for direction, part in parts.items():
                by[direction].append(part)
                wrong = merged_faults(part[0], [part], run_s)
                yield from _located(f"{place} {direction}", wrong)
            both = [parts[d] for d in READ_WRITE if d in parts]
            yield from _located(place, merged_faults(stream.total, both, run_s))
        sums: dict[str, tuple[DirectionResult, list[Part]]] = {
            d: (run.directions.get(d, NOTHING), by[d]) for d in (*by, *run.directions)
        }
        sums["total"] = run.total, [part for d in READ_WRITE for part in by[d]]
        for name, (total, summed) in sums.items():
            wrong = merged_faults(total, summed, run.run_s)
            yield from _located(f"{where}{name}", wrong)

    def _part_faults(self) -> Contradictions:
        """Phases have no more than the run has; targets add up to it."""
        parts: dict[str, list[Any]] = {
            f"phase {name}": [phase] for name, phase in self.record.phases.items()
        }
        parts["targets"] = [*self.record.targets.values()]
        for where, several in parts.items():
            for direction, run in self.record.directions.items() if several else ():
                done = [p.directions.get(direction, NOTHING) for p in several]
                for name in AMOUNTS:
                    amount, most = sum(map(attrgetter(name), done)), getattr(run, name)
                    if amount > most or (where == "targets" and amount != most):
                        text = f"{amount} {name} of {direction}s of {most} in the run"
                        yield Inconsistency(Fault.DERIVED, where, text)

    # what was asked

    def _asked_faults(self) -> Contradictions:
        record, streams = self.record, self.record.streams
        names, expected = ([s.name for s in of] for of in (streams, self.job.streams))
        if names != expected:
            text = f"it has the streams {names}, and {expected} were asked"
            yield Inconsistency(Fault.STREAMS, "", text)
            return
        if others := record.targets.keys() - {t.name for t in self.job.targets}:
            text = f"it has figures of {sorted(others)}, which were not asked"
            yield Inconsistency(Fault.STREAMS, "", text)
        yield from self._phase_faults()
        amount = sum(d.ios + d.errors for s in streams for d in s.directions.values())
        if not amount and self._must_do_io() and not record.power_cut:
            yield Inconsistency(Fault.NOTHING_DONE, "", "not one I/O was done")
        timed = zip(self.job.streams, streams, strict=True)
        for stream, result in timed if record.run_s > 0 else ():
            wrong = StreamChecked(self, stream, result).faults()
            yield from _located(stream.name, wrong)

    def _must_do_io(self) -> bool:
        """Whether the time is enough for an I/O of any stream, but of a rare one."""
        run_s, rates = self.record.run_s, [s.rate for s in self.job.streams]
        rare = all(r and min(r.all_per_s) * run_s < SIGMAS**2 for r in rates)
        return run_s >= STALL_S and not rare

    def _phase_faults(self) -> Contradictions:
        """The latencies of a phase are some of the run's, its rates those asked."""
        for name, phase in self.record.phases.items():
            for stream in phase.streams:
                for direction, done in stream.directions.items():
                    key = stream.name, direction
                    part, run = (self.histograms.get((of, *key)) for of in (name, ""))
                    if done.ios and not is_part(part, run):
                        text = "the latencies are not some of the run's"
                        where = f"phase {name} {stream.name} {direction}"
                        yield Inconsistency(Fault.HISTOGRAM_COUNT, where, text)
        for load in self.job.streams:
            yield from self._phase_rate_faults(load)

    def _phase_rate_faults(self, load: JobStream) -> Contradictions:
        rates = load.rate.phases if load.rate else ()
        named = [(r, p) for r in rates if (p := self.record.phases.get(r.name))]
        for rated, phase in named:
            for result in phase.streams:
                if result.name == load.name:
                    run_s = result.run_s or phase.run_s
                    wrong = rate_faults(load, result, rated.per_s, run_s)
                    yield from _located(f"phase {rated.name}", wrong)

    # times

    def _time_faults(self) -> Findings:
        record = self.record
        run_s, lasted_s = record.run_s, record.lasted_s
        if not isfinite(run_s) or run_s < 0 or (run_s == 0 and record.total.ios):
            yield Fault.NO_TIME, "I/Os completed in zero time"
        for stream in record.streams:
            if stream.run_s and stream.run_s > run_s * (1 + ROUNDING):
                text = f"{stream.name} took {stream.run_s:g} s of a run of {run_s:g} s"
                yield Fault.RUN_TIME, text
        if lasted_s is None:
            return
        stated_s = max(run_s, self.total_s)
        text = f"it is said to have taken {stated_s:g} s, and"
        if stated_s > lasted_s * (1 + SLACK) + LATE_S:
            yield Fault.RUN_CLOCK, f"{text} ended after {lasted_s:g} s"
        if stated_s + 2 * self.longest_s < lasted_s * (1 - SLACK) - START_S:
            yield Fault.RUN_CLOCK, f"{text} took {lasted_s:g} s"

    def _cpu_faults(self) -> Findings:
        cpu, run_s = self.record.cpu, self.record.run_s
        if cpu is None:
            return
        used_s = (cpu.user_ns + cpu.system_ns) / SECOND_NS
        percent = self.record.cpu_percent or 0.0
        if run_s > 0 and not isclose(percent, 100 * used_s / run_s, rel_tol=ROUNDING):
            text = f"{used_s:g} s of CPU in {run_s:g} s are not {percent:g} %"
            yield Fault.DERIVED, text
        if min(cpu.user_ns, cpu.system_ns) < 0:
            yield Fault.NEGATIVE_COUNT, "the CPU time is negative"
        cores = self.record.host.get("cpus") or MOST_CORES
        if used_s > self.limit_s * cores:
            text = f"{used_s:g} s of CPU are more than {cores} cores have in the run"
            yield Fault.RUN_TIME, text

    # intervals

    def _series_faults(self) -> Findings:
        series, total = self.detail.series, self.record.total
        if not series:
            if total.ios and not self.is_imported:
                yield Fault.SERIES_SUM, "there is a result, and no interval"
            return
        yield from chain(order_faults(series), self._crowded())
        most_ns = max(point.max_ns for point in series)
        if total.latency and most_ns > total.latency.max_ns * (1 + BUCKET):
            text = f"an interval has a latency of {most_ns} ns, and the run has none"
            yield Fault.SERIES_SUM, text
        if not self.is_imported:  # whose logs are of its threads, perhaps averages
            yield from chain(self._interval_faults(), self._length_faults())

    def _crowded(self) -> Findings:
        """Little's law in each interval, whose I/Os began by the longest before."""
        if any(stream.rate or stream.replay for stream in self.job.streams):
            return
        slots = sum(map(slots_of, self.job.streams))
        for point in self.detail.series:
            busy_s = moved(point.ios) * (point.mean_ns or 0) / SECOND_NS
            most_s = point.length_s * 1.5 + SLACK_S + point.max_ns / SECOND_NS
            if busy_s > slots * most_s:
                text = f"more I/Os than fit end in the interval to {point.t_s:g} s"
                yield Fault.DEPTH_ABOVE, text
                return

    def _interval_faults(self) -> Findings:
        """Where the intervals do not add up to the result."""
        series, streams, sums = self.detail.series, self.record.streams, self.sums
        by = {d: self.record.directions.get(d, NOTHING) for d in DIRECTIONS}
        for d, run in by.items():
            ios = sum(point.ios.get(d, 0) for point in series)
            size = sum(point.bytes.get(d, 0) for point in series)
            yield from unequal(d, (ios, size), (run.ios, run.bytes))
        errors = sum(point.errors for point in series)
        yield from unequal("errors", (errors,), (sum(r.errors for r in by.values()),))
        if sums is None:
            yield Fault.SERIES_SUM, "it has no counts of its intervals"
            return
        results = {(s.name, d): r for s in streams for d, r in s.directions.items()}
        for key in results | sums:
            yield from sum_faults(key, results.get(key), sums.get(key))

    def _length_faults(self) -> Findings:
        """Whether the intervals last as long as the run.

        A closed loop's measured time is the mean over its slots from the first issue
        to the last completion: shorter than the intervals by an I/O at either end, and
        by what I/Os of the warm-up still took.
        """
        run_s, total_s = self.record.run_s, self.total_s
        if run_s > total_s * (1 + SLACK) + 0.02:
            text = f"the intervals are {total_s:g} s of a run of {run_s:g} s"
            yield Fault.INTERVAL_TIME, text
        errors = sum(point.errors for point in self.detail.series)
        left_s = total_s - self._idle_s() - 2 * self.longest_s
        if not errors and run_s < left_s * (1 - SLACK) - LATE_S:
            text = f"the intervals are {total_s:g} s, and the run {run_s:g} s"
            yield Fault.INTERVAL_TIME, text

    def _idle_s(self) -> float:
        """The intervals before the first I/O and after the last one."""
        series = self.detail.series
        busy = [at for at, point in enumerate(series) if any(point.ios.values())]
        if not busy:
            return self.total_s
        edges = series[: busy[0] + bool(self.job.warmup_ns)], series[busy[-1] + 1 :]
        return sum(point.length_s for point in chain(*edges))
