"""Judges expectations."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.language.plan import OPERATORS, Expectation
from ioplan.results.record import Verdict
from ioplan.runner.figures import Figure, Sample, figure

NO_BASELINE = Figure(None, "no baseline was named; name one with --baseline")


def judge(
    expectation: Expectation, samples: Sequence[Sample], earlier: Figure = NO_BASELINE
) -> Verdict:
    """One expectation against the runs of one cell; `earlier` is the baseline's."""
    actual = figure(expectation.metric, samples)
    limit = _limit(expectation, earlier)
    return Verdict.model_validate(
        {
            "expectation": expectation.text,
            "outcome": _outcome(expectation, actual, limit),
            "actual": actual.value,
            "limit": limit.value,
            "unit": expectation.metric.unit,
            "why": actual.why or limit.why,
        }
    )


def _limit(expectation: Expectation, earlier: Figure) -> Figure:
    if not expectation.of_baseline:
        return Figure(expectation.limit)
    if earlier.value is None:
        return earlier
    return Figure(earlier.value * expectation.limit / 100)


def _outcome(expectation: Expectation, actual: Figure, limit: Figure) -> str:
    if limit.value is None:
        return "no baseline"
    if actual.value is None:
        return "undecided"
    holds = OPERATORS[expectation.operator](actual.value, limit.value)
    return "held" if holds else "failed"
