"""`errors allowed`: what a run says replaces what its workload says."""

from __future__ import annotations

import pytest

from ioplan.language import Source, check
from ioplan.planner import Run, unfold

PLAN = 'workload a = random 4KiB 100/0, errors allowed{}\ntest "T" {{ run a{} for 1s }}'


@pytest.mark.parametrize(
    ("workload", "run", "count", "percent"),
    [
        ("", "", None, 100),
        (" up to 5", "", 5, None),
        (" up to 5", ", errors allowed", None, 100),
        (" up to 5", ", errors allowed up to 1%", None, 1),
        (" up to 1%", ", errors allowed up to 7", 7, None),
    ],
)
def test_the_last_word_holds(
    workload: str, run: str, count: int | None, percent: float | None
) -> None:
    plan = check(Source("p", PLAN.format(workload, run)))
    (found,) = (step for step in unfold(plan) if isinstance(step, Run))
    (stream,) = found.workload.streams
    assert (stream.errors_allowed, stream.errors_allowed_percent) == (count, percent)
