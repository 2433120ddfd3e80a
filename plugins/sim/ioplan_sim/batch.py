"""A batch of I/Os: followed through the drive until they tell its speed."""

from __future__ import annotations

from math import ceil

from ioplan_sim.io_source import DRAWS, PausingSource
from ioplan_sim.queue_model import QueueModel

MIN_WORK, MAX_WORK = 2 * DRAWS, 12 * DRAWS
MAX_ROUNDED = 2 * MAX_WORK
"""How long a batch is, in I/Os; some page operations count as one. It may be longer
to span a whole number of erases."""
PAGES = 8
"""So many page operations take as long to follow as one I/O."""
ENOUGH = 0.02
"""A batch is long enough when the mean latencies of its parts tell its own so well."""
EVENTS = 32
"""So many happen before anybody looks whether they are enough."""


class Batch(QueueModel):
    """The drive at work on some sources, for as long as their figures need."""

    def run(self) -> None:
        """Fill the samples of the sources."""
        self.outstanding = sum(source.outstanding for source in self.sources)
        for source in self.sources:
            self.begin(source)
        self._warm_up()
        self.measured = self.page_ops = 0
        self.erases = 0.0
        for source in self.sources:
            source.clear_samples()
        work = MIN_WORK
        self._follow(work)
        while work < MAX_WORK and not self._is_enough():
            work = min(2 * work, MAX_WORK)
            self._follow(work)
        self._complete_bursts()

    def _complete_bursts(self) -> None:
        """A pause may outlast a batch: it is cut short, to see what comes after it."""
        pausing = [one for one in self.sources if isinstance(one, PausingSource)]
        while lacking := [one for one in pausing if one.lacks_bursts()]:
            for source in lacking:
                self.cut_pause(source)
            for _ in range(EVENTS):
                self.next_event()

    def _follow(self, work: int) -> None:
        """Let events happen until so much is done, each I/O once at least."""
        while self._work() < work or self.measured < self.outstanding:
            self.next_events(EVENTS)
        self._round_off()

    def _round_off(self) -> None:
        """Go on to a whole number of erases: each holds up all reads for so long
        that one too many or too few would tell. Unless they are too rare for that.
        """
        rare = self.erases * MAX_ROUNDED < self._work()
        goal = ceil(self.erases)
        while self.erases < goal and not rare and self._work() < MAX_ROUNDED:
            self.next_event()

    def _work(self) -> int:
        return max(self.measured, self.page_ops // PAGES)

    def _is_enough(self) -> bool:
        return all(source.deviation() < ENOUGH for source in self.sources)

    def _warm_up(self) -> None:
        """Wait until all of a closed loop waits as long as it will, and what the buffer
        held at first is programmed, with all that this made the dies do."""
        while not all(source.has_gone_round for source in self.sources):
            self.next_events(EVENTS)
        while self._work() < MAX_WORK and not self._is_drained():
            self.next_event()
        end_ns = max(self.die_ns)
        while self.events[0][0] < end_ns:
            self.next_event()

    def _is_drained(self) -> bool:
        in_debt = self.copy_debt >= 1 or self.erase_debt >= 1
        is_written = self.initial_pages < self.unit
        return self.finished >= self.outstanding and is_written and not in_debt
