"""When the mean of a cell is known well enough, on rounds whose truth is known."""

from __future__ import annotations

import math
import re

import pytest
from cell_truth import SHAPES, SPREADS, STEP, WITHIN, errors, naive, related, table
from generated import check_part
from paths import ROOT

from ioplan.results.measure import Figure, decide

MOST_WRONG_PERCENT = 5
WRONG = re.compile(r"\| ([\d.]+) %,")


def known(*values: float | None) -> str:
    found = decide(WITHIN, [Figure(v, "failed" if v is None else "") for v in values])
    return found.why


def test_two_rounds_decide_nothing() -> None:
    assert known(100, 100) == "2 of 3 values so far"
    assert not known(100, 100, 100)


def test_a_cell_without_io_is_not_decided() -> None:
    assert known(0.0, 0.0, 0.0) == "iops is 0"


def test_the_first_third_does_not_count() -> None:
    assert known(1, 1, 100, 100, 100, 100) == ""
    assert known(1, 1, 100, 100) != ""


def test_a_failed_round_is_forgotten_with_its_third() -> None:
    assert known(None, 100, 100) == "failed"
    assert not known(None, 100, 100, 100)


def student(chance: float) -> float:
    """The quantile of Student's t of 2 degrees of freedom, in closed form."""
    return (2 * chance - 1) / math.sqrt(2 * chance * (1 - chance))


@pytest.mark.parametrize("looks", [1, 2])
def test_the_width_is_students_at_its_look(looks: int) -> None:
    """Each look at the last three has 5 % / (k (k + 1)) of the risk, on two sides."""
    values = [100.0] * (looks - 1) + [99.0, 100.0, 101.0]
    found = decide(WITHIN, [Figure(value) for value in values])
    chance = 1 - 0.05 / (looks * (looks + 1)) / 2
    assert found.half_width_percent == pytest.approx(student(chance) / math.sqrt(3))


def test_two_thirds_of_the_rounds_count() -> None:
    counted = [len(decide(WITHIN, [Figure(1.0)] * n).values) for n in range(1, 10)]
    assert counted == [1, 2, 3, 3, 4, 4, 5, 6, 6]


@pytest.mark.parametrize("name", SHAPES)
def test_few_cells_are_decided_wrongly(name: str) -> None:
    """The table below has all spreads."""
    found = errors(SHAPES[name], SPREADS[1], series=50)
    assert found.wrong_percent <= MOST_WRONG_PERCENT


def test_quiet_cells_are_decided_soon() -> None:
    found = errors(related, 0.003, series=100)
    assert found.decided_percent == 100
    assert found.rounds <= 3.5


def test_the_judge_of_error_rates_refuses_an_interval_at_each_look() -> None:
    """What a script does: stop as soon as the usual interval is narrow."""
    rates = [errors(related, spread, naive, 300).wrong_percent for spread in SPREADS]
    assert max(rates) > MOST_WRONG_PERCENT


@pytest.mark.long
def test_the_document_has_the_table(renew: bool) -> None:
    found = table()
    check_part(ROOT / "docs/language.md", "rounds by cell", found, renew)
    foreseen = [line for line in found.splitlines()[2:] if STEP not in line]
    wrong = [float(one) for line in foreseen for one in WRONG.findall(line)]
    assert len(wrong) == len(SHAPES) * len(SPREADS) and max(wrong) <= MOST_WRONG_PERCENT
