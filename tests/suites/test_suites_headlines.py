"""Each suite says what its result is: headlines from its source."""

from __future__ import annotations

import pytest
from suite_rows import PLANS, plan_of

from ioplan.language import Matrix

SUITES = [name for name in PLANS if not name.startswith("std/")]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("profile", ["full", "smoke"])
def test_each_test_says_what_it_is_told_by(suite: str, profile: str) -> None:
    for test in plan_of(PLANS[suite], profile).tests:
        assert test.headlines, (suite, test.title)
        for one in test.headlines:
            cells = list(Matrix(test.axes, test.skip).cells(one.when))
            assert cells, (suite, test.title, one.text)
