"""The time of `--within` while a session goes on: how long each run may be.

Before each run the time that is left is shared out anew among its test and the later
ones; only what these would not need is shortened. A run whose part is too short ends
after half of that, once its mean is known well enough, and goes on for up to twice as
long while it is not; where its test asks for more than means, it takes its part. In
rounds all runs have the same part, so that rounds compare.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from time import monotonic

from msgspec.structs import replace

from ioplan.core.units import percent_text, time_text
from ioplan.job import SECOND_NS, Progress
from ioplan.language.metric import Metric
from ioplan.language.plan import Test, Within
from ioplan.planner.budget import (
    LEAST,
    SHORTENED,
    Share,
    Times,
    is_elastic,
    shared_out,
    times_of,
)
from ioplan.planner.estimate import Estimator, least_rounds
from ioplan.planner.steps import Idle, Run, SingleStep
from ioplan.records.record import Decided
from ioplan.results.measure.metrics import Figure, figure
from ioplan.results.measure.steady_state import LEAST as LEAST_VALUES
from ioplan.results.measure.steady_state import Windows, decide
from ioplan.runner.execute.execute import RunOutcome
from ioplan.runner.execute.interrupt import Interrupt
from ioplan.runner.execute.observer import RunWatch

GRACE = 0.01
"""What is planned may take so much longer, as a part of all, before it is cut off."""
WITHIN_PERCENT = 1.0
"""A run whose mean is known so well need not go on."""
MEANS = ("iops", "bandwidth", "mean")
"""Metrics known as well as the mean: a percentile needs as many I/Os as ever."""
TIME_IS_UP = "the time of --within is over"
NOTHING = Times()
"""The times of a test that has not begun."""


class Budget:
    """The time of a session, in virtual time that of its intervals and rests."""

    def __init__(
        self,
        within_s: float,
        shares: Iterable[Share],
        interrupt: Interrupt,
        estimator: Estimator,
        virtual: bool,
    ) -> None:
        self.within_s, self.later = within_s, deque(shares)
        self.interrupt, self.estimator = interrupt, estimator
        self.virtual, self.virtual_s, self.begun_s = virtual, 0.0, monotonic()
        self.share: Share | None = None
        self.ends_s, self.left, self.factor = within_s, NOTHING, 0.0
        self.round_began_s = 0.0
        self.allowance: Allowance | None = None

    @property
    def now_s(self) -> float:
        """Since the session began."""
        return self.virtual_s if self.virtual else monotonic() - self.begun_s

    @property
    def left_s(self) -> float:
        """Until all is to be over."""
        return self.within_s - self.now_s

    def is_over(self, more_s: float = 0.0) -> bool:
        """Whether so much more is too much."""
        return more_s > self.left_s + GRACE * self.within_s

    def passed(self, time_ns: int) -> None:
        """An interval or a rest is over."""
        self.virtual_s += time_ns / SECOND_NS

    # tests and rounds

    def begin(self, test: Test) -> None:
        """Share out what is left among this test and the later ones."""
        while self.later and self.later[0].test is not test:
            self.later.popleft()
        self.share = self.later.popleft()
        self.left, self.factor = self.share.once, 0.0
        self.round_began_s = self.now_s
        self._share_out()

    def _share_out(self) -> None:
        """Give the present test its part of what is left, and all that others spare."""
        assert self.share
        rounds_s = self.share.full_s - self.share.once.whole_s
        full_s = self.left.whole_s + rounds_s
        present = replace(self.share, once=self.left, full_s=full_s)
        own_s = shared_out([present, *self.later], self.left_s)[0].time_s
        spare_s = self.left_s - sum(share.full_s for share in self.later)
        self.ends_s = self.now_s + max(own_s, spare_s)

    def allows_round(self, number: int) -> bool:
        """Whether there is time for the one of this number, if it is like the last.

        The least rounds may take what later tests could do without.
        """
        assert self.share and self.share.test.rounds
        round_s, self.round_began_s = self.now_s - self.round_began_s, self.now_s
        ends_s = self.ends_s
        if number <= least_rounds(self.share.test.rounds):
            ends_s = self.within_s - sum(one.once.least_s for one in self.later)
        return self.now_s + round_s <= ends_s

    def _begin_rounds(self, test: Test) -> None:
        """What is prepared once is no part of a round."""
        if test.after is None or test.after.before_each is None:
            self.round_began_s = self.now_s

    # steps

    def done(self, step: SingleStep) -> None:
        """A step is over, or was not needed."""
        own = times_of([(step, 1)], self.estimator)
        fixed_s = max(0.0, self.left.fixed_s - own.fixed_s)
        self.left = Times(fixed_s, max(0.0, self.left.elastic_s - own.elastic_s))

    def allow(self, step: SingleStep) -> None:
        """See that there is time for a step. Raises KeyboardInterrupt if not."""
        self.allowance = None
        needed_s = 0.0
        if isinstance(step, Idle):
            needed_s = step.pause_ns / SECOND_NS
        elif isinstance(step, Run) and is_elastic(step):
            self.allowance = self._allowance(step)
            needed_s = self._least_s(step)
        if self.is_over(needed_s):
            self.interrupt.end(TIME_IS_UP)
            raise KeyboardInterrupt

    def _least_s(self, run: Run) -> float:
        times = times_of([(run, 1)], self.estimator)
        return times.least_s if self.allowance else times.whole_s

    def _allowance(self, run: Run) -> Allowance | None:
        """None where the run may be as long as planned."""
        planned_s = (run.length.run_ns or 0) / SECOND_NS
        if not run.test.rounds or not self.factor:
            self._share_out()
        test_s = self.ends_s - self.now_s
        if run.test.rounds:
            if not self.factor:
                self.factor = self.left.factor(test_s)
                self._begin_rounds(run.test)
            own_s = self.factor * planned_s
            return Allowance(run, own_s, own_s) if own_s < planned_s else None
        own_s = self.left.factor(test_s) * planned_s
        if own_s >= planned_s:
            return None
        if any(metric.name not in MEANS for metric in run.test.metrics):
            return Allowance(run, own_s, own_s)
        least_s = max(LEAST * planned_s, own_s / 2)
        others_s = self.left.least_s - LEAST * planned_s
        most_s = min(planned_s, 2 * own_s, test_s - others_s)
        return Allowance(run, least_s, max(least_s, most_s))

    # what goes on

    def watch(self, inner: RunWatch | None) -> BudgetWatch:
        """The watch over the run or write that begins now."""
        return BudgetWatch(self, inner, self.allowance)

    def judged(self, outcome: RunOutcome) -> RunOutcome:
        """With a warning where the run was not as long as planned."""
        allowance, self.allowance = self.allowance, None
        if allowance is None or not allowance.shortens or outcome.status != "ok":
            return outcome
        return replace(outcome, warnings=(*outcome.warnings, str(allowance)))


class Allowance:
    """How long one run may be: at least and at most, and what is known of its mean."""

    def __init__(self, run: Run, least_s: float, most_s: float) -> None:
        self.planned_s = (run.length.run_ns or 0) / SECOND_NS
        self.least_s, self.most_s = least_s, most_s
        open_loop = any(stream.rate for stream in run.workload.streams)
        metric = Metric(name="mean" if open_loop else "iops")
        self.within = Within(metric=metric, percent=WITHIN_PERCENT)
        self.windows = Windows(max(1, int(least_s * SECOND_NS) // LEAST_VALUES))
        self.values: list[Figure] = []
        self.known: Decided | None = None
        self.time_s = 0.0
        self.over = False

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once the run has had its time."""
        if progress.warmup:
            return False
        length_s = progress.interval_ns / SECOND_NS
        self.time_s += length_s
        if window := self.windows.add(progress):
            self.values.append(figure(self.within.metric, [window]))
            self.known = decide(self.within, self.values)
        decided = self.known is not None and self.known.reached
        ends_s = self.least_s if decided else self.most_s
        self.over = self.time_s + length_s > ends_s
        return self.over

    @property
    def shortens(self) -> bool:
        """Whether the run ended before its planned time."""
        return self.over and self.time_s < self.planned_s * (1 - 1e-6)

    def __str__(self) -> str:
        known = self.known
        text = f"ended after {time_text(self.time_s)} of {time_text(self.planned_s)}"
        if known is None or not known.half_width_percent:
            return f"{text} {SHORTENED}"
        percent = known.half_width_percent + known.drift_percent
        return (
            f"{text} {SHORTENED}: {known.metric} known within {percent_text(percent)}"
        )


class BudgetWatch:
    """Ends a run when it has had its time, and the session when all is over."""

    def __init__(
        self, budget: Budget, inner: RunWatch | None, allowance: Allowance | None
    ) -> None:
        self.budget, self.inner, self.allowance = budget, inner, allowance

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once it is enough."""
        self.budget.passed(progress.interval_ns)
        watches = (one for one in (self.inner, self.allowance) if one)
        enough = any([one.add(progress) for one in watches])
        if not enough and self.budget.is_over():
            self.budget.interrupt.end(TIME_IS_UP)
        return enough
