"""What measured cells say of those between them, on rates whose truth is known."""

from __future__ import annotations

import pytest
from generated import check_part
from paths import ROOT
from predicted_truth import SPREADS, TRUTHS, a_test, errors, table

from ioplan.language.bind.between import numeric_axes, skeleton
from ioplan.language.bind.matrix import Cell, CellKey, Matrix, cell_key
from ioplan.language.check.check import check
from ioplan.language.syntax.source import Source
from ioplan.results.measure.neighbours import Rate, predictions, rate_of

MOST_WRONG_PERCENT = 5


def depths(text: str = "1..256 doubling") -> list[Cell]:
    plan = f'test "T" {{ run random 4KiB 100/0 for 1s vary qd in {text} }}'
    test = check(Source("t", plan)).tests[0]
    return list(Matrix(test.axes, test.skip).cells())


def known(cells: list[Cell], *rates: float) -> dict[CellKey, Rate]:
    pairs = zip(skeleton(cells), rates, strict=True)
    return {cell_key(cell): Rate(rate) for cell, rate in pairs}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("spread", SPREADS)
def test_few_predictions_are_wrong(name: str, spread: float) -> None:
    assert errors(TRUTHS[name], spread, 5, turns=1).wrong_percent <= MOST_WRONG_PERCENT


def test_what_does_not_change_is_left_out() -> None:
    assert errors(TRUTHS["flat"], 0.01, turns=1).left_out_percent > 50


@pytest.mark.parametrize("within", [2, 5])
def test_cells_that_their_neighbours_do_not_tell_are_all_measured(within: int) -> None:
    found = errors(TRUTHS["each cell is off by 3 %"], 0.01, within, turns=1)
    assert (found.refused_percent, found.left_out_percent) == (100, 0)


def test_a_power_law_is_exact() -> None:
    cells = depths()
    found = predictions(cells, known(cells, 1, 4, 16, 64, 256))
    assert [round(one.value) for one in found.values()] == [2, 8, 32, 128]
    assert all(one.half_percent < 1e-9 for one in found.values())


def test_a_bend_is_as_far_off_as_is_said() -> None:
    """100 up to a depth of 8, then twice as much by each doubling."""
    cells = depths()
    found = predictions(cells, known(cells, 100, 100, 200, 800, 3200))
    at_8 = found[cell_key(cells[3])]
    assert abs(at_8.value / 100 - 1) <= at_8.error


def test_noise_of_a_neighbour_is_noise_of_a_prediction() -> None:
    cells = depths()
    noisy = rate_of(100.0, [90.0, 110.0] * 30)
    rates = {cell_key(cell): noisy for cell in skeleton(cells)}
    assert noisy.half_percent == pytest.approx(2.6, abs=0.1)
    assert {
        round(one.half_percent, 1) for one in predictions(cells, rates).values()
    } == {round(noisy.half_percent, 1)}


def test_one_interval_tells_nothing() -> None:
    assert rate_of(100.0, [100.0]).half_percent == 100


def test_names_and_few_numbers_have_nothing_between_them() -> None:
    assert not numeric_axes(depths("1, 2, 4, 8"))
    assert numeric_axes(depths("1, 2, 4, 8, 16")) == ["qd"]
    assert len(skeleton(list(Matrix(a_test().axes, ()).cells()))) == 5 * 5 * 4


@pytest.mark.long
def test_the_document_has_the_table(renew: bool) -> None:
    check_part(ROOT / "docs/language.md", "predicted cells", table() + "\n", renew)
