"""Telemetry of a session: what can be read here, and what was read during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

from msgspec import Struct

from ioplan.backends.backend import JoinedFacts, TargetFacts
from ioplan.core.units import percent_text
from ioplan.job import SECOND_NS, Event, Job, Progress, Result, Started, Wear
from ioplan.records.assessed import MAX_STEAL_PERCENT
from ioplan.records.telemetry import Log, Telemetry, TelemetryPoint
from ioplan.runner.telemetry.cpu_facts import cpu_throttles
from ioplan.runner.telemetry.device_check import Told, device_counts, differences
from ioplan.runner.telemetry.disk import Disk, disk_of
from ioplan.runner.telemetry.power import Sensor, throttles_at_celsius
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.sample import Sample
from ioplan.runner.telemetry.sensors import Meter, Sensors, filled_in
from ioplan.runner.telemetry.smart import Logs, Smart
from ioplan.runner.telemetry.summary import covering, points, summary
from ioplan.runner.telemetry.wear import wear_between

# Takes samples while a run goes on, in a thread that may hang.
#
# A sample is taken when the backend says that an interval has ended: so it lies
# beside the series, and needs no clock of its own. The reading is done in a thread,
# as a drive that hangs may hold even who only asks for its temperature; the run never
# waits for it.

END_S = 2.0


class Sampler:
    """`samples` has the start of the measured part, then one for each interval."""

    def __init__(self, sensors: Sensors, job: Job, meter: Meter | None = None) -> None:
        self.sensors, self.job, self.meter = sensors, job, meter
        self.samples: list[Sample] = []
        self.problem = ""
        self.measuring = False
        self.marks: SimpleQueue[tuple[float, bool] | None] = SimpleQueue()
        self.thread = Thread(target=self._run, daemon=True, name="ioplan telemetry")

    def start(self) -> None:
        """Begin, without a sample yet."""
        self.thread.start()

    def on_event(self, event: Event) -> None:
        """Take a sample if the event is the end of an interval."""
        match event:
            case Started() if not self.job.warmup_ns:
                self._mark(0.0, is_start=True)
            case Progress(warmup=True):
                self._mark(0.0, is_start=True)
            case Progress():
                self._mark(event.t_ns / SECOND_NS)
            case Result() if not self.measuring:
                self._mark(event.run_ns / SECOND_NS)

    def close(self) -> None:
        """Take no more. A thread that hangs stays, and dies with ioplan."""
        self.marks.put(None)
        self.thread.join(END_S)
        if self.thread.is_alive():
            self.problem = "reading telemetry hangs: check which file of /sys blocks"
        if self.meter:
            self.meter.close()

    def _mark(self, t_s: float, is_start: bool = False) -> None:
        self.measuring = not is_start
        self.marks.put((t_s, is_start))

    def _run(self) -> None:
        try:
            for t_s, is_start in iter(self.marks.get, None):
                sample = self.sensors.sample(t_s, self.meter, is_start)
                self.samples = [sample] if is_start else [*self.samples, sample]
        except Exception as error:  # an odd machine must not end a run
            self.problem = f"{type(error).__name__}: {error}"


NVME = "nvme"
OF_ONE = ("temperature", "the device's queue")
SEVERAL = "temperature, queue and SMART logs of the drives (the run has several)"


class RunTelemetry(Struct, frozen=True):
    """What was read during one run."""

    means: Telemetry | None = None
    points: tuple[TelemetryPoint, ...] = ()
    warnings: tuple[str, ...] = ()
    wear: Wear | None = None


class Instruments:
    """Everything that can be read on this machine for one target."""

    def __init__(
        self, facts: TargetFacts, meter: tuple[str, ...] = (), tree: Tree | None = None
    ) -> None:
        """`meter` is a command that prints watts."""
        self.tree, self.meter = tree or Tree(), meter
        self.disk = disk_of(self.tree, facts.path)
        self.several = isinstance(facts, JoinedFacts)
        self.sensors = Sensors(self.tree, self.disk, metered=bool(meter))
        self.smart = _smart(self.disk)

    def unavailable(self) -> tuple[str, ...]:
        """What cannot be measured here, each with a reason."""
        found = self.sensors.unavailable()
        if self.several:
            found = (*(one for one in found if not one.startswith(OF_ONE)), SEVERAL)
        if self.smart and not self.smart.logs().smart:
            found += (f"SMART ({self.smart.problem})",)
        return found

    def wear_meter(self) -> Callable[[object], Wear | None]:
        """What tells what was written since now, and takes some 10 ms to read."""
        before = self.smart.logs() if self.smart else Logs()

        def read(_: object) -> Wear | None:
            now = self.smart.logs() if self.smart else Logs()
            return wear_between(before, now, self.capacity_bytes)

        return read

    def without_meter(self) -> str:
        """Why nothing tells what is written to the flash; empty where a log does."""
        if self.smart is None:
            return "only an NVMe drive as a whole has a log of its writes"
        logs = self.smart.logs()
        if not logs.smart:
            return f"SMART is not readable ({self.smart.problem})"
        wear = wear_between(logs, logs, None)
        if wear is None or wear.media_written_bytes is None:
            return "the drive's log does not count writes to its flash"
        return ""

    @property
    def capacity_bytes(self) -> int | None:
        """The capacity of the whole drive, which its logs are of."""
        told = self.smart.capacity_bytes if self.smart else None
        return told or (self.disk.whole_bytes() if self.disk else None)


def _smart(disk: Disk | None) -> Smart | None:
    """Only of a drive that is the target itself."""
    if disk is None or not disk.is_target or not disk.whole.name.startswith(NVME):
        return None
    return Smart(f"/dev/{disk.whole.name}")


class InstrumentedRun:
    """One run under instruments, or under none."""

    def __init__(self, instruments: Instruments | None, job: Job) -> None:
        self.instruments, self.telemetry = instruments, RunTelemetry()
        self.job, self.told = job, Told()
        if instruments:
            meter = Meter(instruments.meter) if instruments.meter else None
            self.sampler = Sampler(instruments.sensors, job, meter)

    def on_event(self, event: Event) -> None:
        """An event of the run."""
        if self.instruments:
            self.sampler.on_event(event)
            self.told.add(event)

    def __enter__(self) -> Self:
        if self.instruments:
            self.logs, self.throttles = _read_outside_run(self.instruments)
            self.sampler.start()
            self.counted = device_counts(self.instruments.disk)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.instruments:
            self.sampler.close()
            if kind is None:  # after an error, do not wait for the drive's logs
                self.telemetry = self._telemetry_or_warning(self.instruments)

    def _telemetry_or_warning(self, instruments: Instruments) -> RunTelemetry:
        try:
            return self._read_telemetry(instruments)
        except Exception as error:  # an odd machine must not end a run
            why = f"{type(error).__name__}: {error}"
            return RunTelemetry(warnings=(f"there is no telemetry of the run: {why}",))

    def _read_telemetry(self, instruments: Instruments) -> RunTelemetry:
        samples = covering(filled_in(list(self.sampler.samples)))
        logs, throttles = _read_outside_run(instruments)
        known = instruments.sensors.readable
        more = _logged(instruments.smart, self.logs, logs)
        if throttles is not None and self.throttles is not None:
            more["cpu_throttles"] = throttles - self.throttles
        telemetry = summary(samples, known, **more)
        warnings = list(self._problems())
        if telemetry:
            warnings += heat_warnings(telemetry, instruments.sensors.temperature)
        warnings += differences(self.job, self.told, self.counted, instruments.disk)
        written = wear_between(self.logs, logs, instruments.capacity_bytes)
        return RunTelemetry(telemetry, points(samples, known), tuple(warnings), written)

    def _problems(self) -> Iterator[str]:
        if self.sampler.problem:
            yield f"telemetry ended before the run: {self.sampler.problem}"
        if self.sampler.meter and self.sampler.meter.problem:
            yield self.sampler.meter.problem


def _read_outside_run(instruments: Instruments) -> tuple[Logs, int | None]:
    """What is read before a run and after it, but not during it."""
    logs = instruments.smart.logs() if instruments.smart else Logs()
    return logs, cpu_throttles(instruments.tree)


def _logged(smart: Smart | None, before: Logs, after: Logs) -> dict[str, Any]:
    if smart is None:
        return {}
    return {
        "smart_before": before.smart,
        "smart_after": after.smart,
        "ocp_before": before.ocp,
        "ocp_after": after.ocp,
        "nvme_power_state": after.power_state,
        "nvme_power_state_max_watts": smart.max_state_watts(after.power_state),
    }


THROTTLED = (
    "thm_temp1_trans_count",
    "thm_temp2_trans_count",
    "warning_temp_time",
    "critical_comp_time",
)


def heat_warnings(run: Telemetry, sensor: Sensor | None) -> Iterator[str]:
    """That heat, or a hypervisor, has slowed a run down."""
    limit, hottest = (
        sensor and throttles_at_celsius(sensor),
        run.temperature_max_celsius,
    )
    if limit and hottest is not None and hottest >= limit:
        yield (
            f"the drive reached {hottest:.0f} °C, and slows down from {limit:.0f} °C: "
            "improve its cooling"
        )
    if grown := [name for name in THROTTLED if _grown(run, name)]:
        yield (
            f"the drive throttled because of its temperature ({', '.join(grown)} of "
            "SMART rose)"
        )
    if run.smart_after.get("critical_warning"):
        yield "the drive has a critical warning in SMART: see `nvme smart-log`"
    if run.cpu_throttles:
        yield f"CPUs throttled because of their temperature {run.cpu_throttles} times"
    if (run.steal_percent or 0.0) > MAX_STEAL_PERCENT:
        yield (
            f"the hypervisor stole {percent_text(run.steal_percent or 0.0)} of a CPU: "
            "latencies include this"
        )


def _grown(run: Telemetry, name: str) -> bool:
    before: Log = run.smart_before
    return run.smart_after.get(name, 0) > before.get(name, run.smart_after.get(name, 0))
