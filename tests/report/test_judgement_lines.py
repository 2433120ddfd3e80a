"""What did not hold in many cells is one line, which says where."""

from __future__ import annotations

from itertools import product

import pytest

from ioplan.records import Verdict
from ioplan.results.report import Judgement, verdict_lines

QDS, READS = ("1", "2", "4", "8", "16"), ("100%", "0%")
EXPECTED = "expect p99 <= 1ms"


def judged(failing: set[tuple[str, str]]) -> list[Judgement]:
    """A matrix in which p99 is the queue depth in milliseconds where it failed."""
    made = []
    for qd, read in product(QDS, READS):
        outcome = "failed" if (qd, read) in failing else "held"
        actual = 1e6 * int(qd) + 5e5 if outcome == "failed" else 5e5
        verdict = Verdict(
            expectation=EXPECTED, outcome=outcome, actual=actual, limit=1e6, unit="ns"
        )
        made.append(Judgement(EXPECTED, outcome, {"qd": qd, "read": read}, verdict))
    return made


def failed_lines(failing: set[tuple[str, str]]) -> list[str]:
    found = verdict_lines(judged(failing), limits=True)
    return [text for outcome, text in found if outcome == "failed"]


def test_all_cells() -> None:
    assert failed_lines(set(product(QDS, READS))) == [
        f"failed in 10 of 10 cells: {EXPECTED}: 1.50 ms to 16.5 ms, limit 1.00 ms, "
        "worst at qd=16 read=100%"
    ]


@pytest.mark.parametrize(
    ("failing", "where"),
    [
        (set(product(QDS[-2:], READS)), "4 of 10 cells [qd=8, 16]"),
        (set(product(QDS, READS[1:])), "5 of 10 cells [read=0%]"),
        (set(product(QDS[:4], READS[1:])), "4 of 10 cells [qd=1, 2, 4, 8 read=0%]"),
        ({*product(QDS[-2:], READS), ("1", "0%")}, "5 of 10 cells"),
    ],
)
def test_the_values_that_tell_them_from_the_others(
    failing: set[tuple[str, str]], where: str
) -> None:
    (line,) = failed_lines(failing)
    assert line.startswith(f"failed in {where}: {EXPECTED}: ")


def test_a_few_cells_have_a_line_each() -> None:
    lines = failed_lines({("4", "0%"), ("8", "0%"), ("16", "0%")})
    assert lines == [
        f"failed: {EXPECTED} [qd={qd} read=0%]: {qd}.5{'0' * (len(qd) < 2)} ms, "
        "limit 1.00 ms"
        for qd in ("4", "8", "16")
    ]
