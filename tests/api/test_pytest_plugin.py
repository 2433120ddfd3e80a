"""A plan as a test of pytest, in a pytest of its own."""

from __future__ import annotations

import pytest
from paths import ROOT

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

HOLDS = 'test "T" { run random 4KiB 100/0 for 1s expect p99 < 1s }'
FAILS = 'test "T" { run random 4KiB 100/0 for 1s expect p99 < 1ns }'
TESTS = """
import pytest

@pytest.mark.ioplan_plan("holds.ioplan", backend="sim")
def test_holds(ioplan_session):
    assert ioplan_session.records[0].total.errors == 0

@pytest.mark.ioplan_plan("fails.ioplan", backend="sim")
def test_fails():
    pass

@pytest.mark.ioplan_plan('test "T" {')
def test_no_plan(ioplan_session):
    pass

def test_no_marker(ioplan_session):
    pass

def test_other():
    pass
"""


@pytest.mark.long
@pytest.mark.promise("python.pytest")
def test_it_fails_with_the_verdict_s_text(pytester: pytest.Pytester) -> None:
    pytester.makefile(".ioplan", holds=HOLDS, fails=FAILS)
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_subprocess("--strict-markers")
    done.assert_outcomes(passed=2, errors=3)
    done.stdout.re_match_lines_random(
        [
            r"failed: expect p99 < 1ns: [\d.]+ µs, limit 1.00 ns",
            r".*error: a block is not closed",
            r".*needs a marker: @pytest.mark.ioplan_plan.*",
        ]
    )
    assert "Traceback" not in done.stdout.str()


@pytest.mark.long
def test_the_document_s_example_is_collected(pytester: pytest.Pytester) -> None:
    text = (ROOT / "docs" / "python.md").read_text().split("```python\n")[2]
    pytester.makefile(".ioplan", nightly=HOLDS)
    pytester.makepyfile("import pytest\n\n" + text.split("```")[0])
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
