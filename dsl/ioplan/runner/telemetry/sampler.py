"""Takes samples while a run goes on, in a thread that may hang.

A sample is taken when the backend says that an interval has ended: so it lies beside
the series, and needs no clock of its own. The reading is done in a thread, as a
drive that hangs may hold even who only asks for its temperature; the run never
waits for it.
"""

from __future__ import annotations

from queue import SimpleQueue
from threading import Thread

from ioplan.job import SECOND_NS, Event, Job, Progress, Result, Started
from ioplan.runner.telemetry.power_meter import Meter
from ioplan.runner.telemetry.sample import Sample
from ioplan.runner.telemetry.sensors import Sensors

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
