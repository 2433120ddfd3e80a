"""How the time of `--within` is shared out among tests, before anything runs.

What a test cannot do without comes first: what prepares the target, and a tenth of each
run. What is left makes runs as long as planned, in the same proportion in all tests;
what is left after that goes to further rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil, sqrt

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.statistics.student_t import quantile
from ioplan.core.text import counted
from ioplan.core.units import percent_text, time_text
from ioplan.job import SECOND_NS
from ioplan.language.plan import CheckedPlan, Test
from ioplan.planner.estimate import (
    LEAST_ROUNDS,
    Estimator,
    least_rounds,
    with_repetitions,
)
from ioplan.planner.steps import RoundsOf, Run, SingleStep, Step
from ioplan.planner.target_state import TargetState
from ioplan.planner.unfolding import UNKNOWN, unfold

LEAST = 0.1
"""The part of a run's time that it has in any case."""
SHORTENED = "(--within)"
"""In the warning of a run that has ended before its time."""
SECONDS_PERCENT, ROUNDS_PERCENT = 5.0, 1.0
"""What the IOPS of a cell are assumed to differ by, from one to the next."""
ASSUMED = (
    f"~ assumes that the IOPS of a cell differ by {SECONDS_PERCENT:g} % from second to "
    f"second and by {ROUNDS_PERCENT:g} % from round to round"
)


class BudgetError(ExplainedError):
    """The time is too short for what is to be measured."""

    kind = CommandFault.USAGE


def is_elastic(step: SingleStep) -> bool:
    """Whether a run may end early: nothing else ends it or is set to a moment."""
    if not isinstance(step, Run) or step.length.run_ns is None:
        return False
    ends = step.length.limit_bytes, step.length.passes, step.every_ns, step.cut_ns
    if any(ends) or step.events or step.probing:
        return False
    return not any(
        stream.starts_ns
        or stream.ends_ns is not None
        or stream.replay
        or (stream.rate and stream.rate.changes)
        for stream in step.workload.streams
    )


class Times(Struct, frozen=True):
    """Seconds of steps: of runs that may end early, and of all else."""

    fixed_s: float = 0.0
    elastic_s: float = 0.0

    @property
    def least_s(self) -> float:
        """With each run as short as it may be."""
        return self.fixed_s + LEAST * self.elastic_s

    @property
    def whole_s(self) -> float:
        """With each run as long as planned."""
        return self.fixed_s + self.elastic_s

    def factor(self, time_s: float) -> float:
        """The part of its time that each run has, so that all of it takes so long."""
        if not self.elastic_s:
            return 1.0
        return min(1.0, max(LEAST, (time_s - self.fixed_s) / self.elastic_s))


def times_of(steps: Iterable[tuple[SingleStep, int]], estimator: Estimator) -> Times:
    """The times of steps, each with how often it is done."""
    fixed_s = elastic_s = 0.0
    for step, times in steps:
        run_s = estimator.cost(step).run_s * times
        own_s = 0.0
        if isinstance(step, Run) and is_elastic(step):
            own_s = (step.length.run_ns or 0) / SECOND_NS * times
        fixed_s, elastic_s = fixed_s + run_s - own_s, elastic_s + own_s
    return Times(fixed_s, elastic_s)


class Share(Struct, frozen=True):
    """What a test takes, and `time_s`, what it is to have.

    `once` is without rounds beyond the least, with which it tells what it is for;
    `full_s` is as planned, `run_s` the longest of the runs that may end early.
    """

    test: Test
    once: Times
    full_s: float
    run_s: float
    time_s: float = 0.0

    @property
    def factor(self) -> float:
        """The part of its time that each run has."""
        return self.once.factor(self.time_s)

    @property
    def rounds(self) -> int:
        """How many there is time for."""
        assert self.test.rounds
        most, least = self.test.rounds.at_most, least_rounds(self.test.rounds)
        if most == least:
            return most
        round_s = (self.full_s - self.once.whole_s) / (most - least)
        more = int((self.time_s - self.once.whole_s) / max(round_s, 1e-9) + 1e-6)
        return min(most, least + max(0, more))

    @property
    def is_whole(self) -> bool:
        """Whether all is as planned."""
        return self.time_s >= self.full_s * (1 - 1e-9)

    def as_json(self) -> dict[str, str | float]:
        """A test's share of the budget, for programs."""
        rounds = {"rounds_at_most": self.rounds} if self.test.rounds else {}
        return {
            "test": self.test.title,
            "time_s": round(self.time_s, 3),
            "planned_s": round(self.full_s, 3),
            "run_s": round(self.factor * self.run_s, 3),
            "known_percent": self._known_percent(),
            **rounds,
        }

    def __str__(self) -> str:
        about = f"{self.test.title}: {time_text(self.time_s)}"
        parts = [about if self.is_whole else f"{about} of {time_text(self.full_s)}"]
        if self.is_whole:
            parts.append("as planned")
        elif rounds := self.test.rounds:
            parts.append(f"{self.rounds} of at most {counted(rounds.at_most, 'round')}")
        if self.factor < 1:
            shown = time_text(self.factor * self.run_s)
            parts.append(f"{shown} of {time_text(self.run_s)} a run")
        if self.run_s:
            parts.append(f"IOPS known within {percent_text(self._known_percent())}")
        return ", ".join(parts)

    def _known_percent(self) -> float:
        """The half width of a 95 % confidence interval, by what is assumed."""
        if not self.test.rounds:
            count, percent = round(self.factor * self.run_s), SECONDS_PERCENT
        else:
            count, percent = self.rounds, ROUNDS_PERCENT
            count = max(min(count, LEAST_ROUNDS), ceil(count * 2 / 3))
        count = max(2, count)
        return quantile(0.975, count - 1) * percent / sqrt(count)


def shares_within(
    within_s: float | None,
    plan: CheckedPlan,
    capacity_bytes: int,
    state: TargetState = UNKNOWN,
) -> tuple[Share, ...]:
    """What each test is to have of the time. Raises BudgetError if that is too little.

    None are needed where there is no limit.
    """
    if within_s is None:
        return ()
    estimator = Estimator(capacity_bytes)
    steps = groupby(unfold(plan, state), key=lambda step: step.test)
    shares = [_share(test, list(found), estimator) for test, found in steps]
    least_s = sum(one.once.least_s for one in shares)
    if least_s > within_s:
        raise BudgetError(_too_short(shares, within_s, least_s))
    return shared_out(shares, within_s)


def _share(test: Test, steps: Sequence[Step], estimator: Estimator) -> Share:
    elastic = (one for one, _ in with_repetitions(steps) if is_elastic(one))
    runs_ns = (one.length.run_ns or 0 for one in elastic if isinstance(one, Run))
    return Share(
        test,
        times_of(with_repetitions(map(_at_least, steps)), estimator),
        estimator.total(steps).run_s,
        max(runs_ns, default=0) / SECOND_NS,
    )


def _at_least(step: Step) -> Step:
    """Rounds without those that a test can do without."""
    if not isinstance(step, RoundsOf):
        return step
    return replace(step, rounds=replace(step.rounds, at_most=least_rounds(step.rounds)))


def shared_out(shares: Sequence[Share], time_s: float) -> tuple[Share, ...]:
    """The tests with their parts of the time, which is at least what they need."""
    needs = [(one.once.least_s, one.once.whole_s, one.full_s) for one in shares]
    least_s, once_s, full_s = (sum(column) for column in zip(*needs, strict=True))
    if time_s < once_s:
        part = max(0.0, time_s - least_s) / (once_s - least_s)
        found = [least + part * (once - least) for least, once, _ in needs]
    else:
        part = min(1.0, (time_s - once_s) / max(full_s - once_s, 1e-9))
        found = [once + part * (full - once) for _, once, full in needs]
    times = zip(shares, found, strict=True)
    return tuple(replace(one, time_s=own_s) for one, own_s in times)


def _too_short(shares: Sequence[Share], within_s: float, least_s: float) -> str:
    longest = max(shares, key=lambda one: one.once.least_s)
    return (
        f"--within {time_text(within_s)} is too short: the plan needs about "
        f"{time_text(least_s)}, with each run a tenth as long and the least rounds; "
        f"{time_text(longest.once.least_s)} of it for {longest.test.title!r}; allow "
        "more time, or leave out tests with --test"
    )


def share_lines(shares: Sequence[Share], within_s: float) -> Iterator[str]:
    """What is said before anything runs: what each test can tell in its time."""
    full_s = sum(one.full_s for one in shares)
    about = f"within {time_text(within_s)}"
    if full_s <= within_s:
        planned = f"the {time_text(full_s)} that are planned"
        yield f"{about}: nothing is shortened, unless {planned} take longer than that"
        return
    yield f"{about}, of {time_text(full_s)} as planned:"
    yield from (f"  {one}" for one in shares)
    yield ASSUMED
