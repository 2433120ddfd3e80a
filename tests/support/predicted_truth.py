"""Rates over a matrix whose truth is known, and how often a prediction of it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from random import Random
from typing import NamedTuple

from ioplan.language.bind.matrix import Matrix, cell_key
from ioplan.language.check.check import check
from ioplan.language.plan import Test
from ioplan.language.syntax.source import Source
from ioplan.results.measure.neighbours import rate_of
from ioplan.runner.session.predicted import PredictedCells

PLAN = """test "T" {{
  run random 4KiB 100/0, qd 1 for 1min
  vary qd in 1..256 doubling
  vary size in 4KiB..1MiB doubling
  vary read in 100%, 95%, 65%, 50%, 35%, 5%, 0%
  skip when predicted within {within}%
}}"""
SECONDS = 60
Place = Mapping[str, float]
Truth = Callable[[Place], float]


def _service_s(at: Place) -> float:
    read, size = at["read"] / 100, at["size"]
    return read * (80e-6 + size / 3e9) + (1 - read) * (20e-6 + size / 1e9)


def smooth(at: Place) -> float:
    """A queue that fills up little by little."""
    return 1 / (_service_s(at) * (1 / at["qd"] + 1 / 16))


def knee(at: Place) -> float:
    """All that is asked for, up to a limit."""
    return min(at["qd"], 24) / _service_s(at)


def flat(at: Place) -> float:
    """Nothing depends on the depth: a disk behind a cap."""
    return 10_000 * (4096 / at["size"]) ** 0.25


def odd_cell(at: Place) -> float:
    """One depth is slow, as where two queues of a drive get in each other's way."""
    return smooth(at) * (0.8 if at["qd"] == 32 else 1.0)


def uneven(at: Place) -> float:
    """Each cell is off by a few percent, by nothing that its neighbours tell."""
    draw = Random(str(sorted(at.items()))).gauss(0, 1)
    return smooth(at) * exp(0.03 * draw)


TRUTHS: dict[str, Truth] = {
    "flat": flat,
    "fills up little by little": smooth,
    "bends at one depth": knee,
    "one depth is 20 % slow": odd_cell,
    "each cell is off by 3 %": uneven,
}
SPREADS = (0.0, 0.01, 0.05, 0.2)
"""Of the rates from second to second."""


class Errors(NamedTuple):
    """Shares in percent: of cells left out, of these that are off, of whole matrices
    that were measured, as checks or the number of cells said so."""

    left_out_percent: float
    wrong_percent: float
    refused_percent: float


def a_test(within: float = 2.0) -> Test:
    """Of 9 depths, 9 sizes and 7 mixes."""
    return check(Source("t", PLAN.format(within=f"{within:g}"))).tests[0]


def errors(truth: Truth, spread: float, within: float = 2.0, turns: int = 2) -> Errors:
    """What becomes of the matrix, drawn so often."""
    test = a_test(within)
    cells, rng = list(Matrix(test.axes, test.skip).cells()), Random(f"{spread}")
    total = left = wrong = refused = 0
    for _ in range(turns):
        notes: list[str] = []
        assert test.predicted
        chosen = PredictedCells(test, test.predicted, cells, notes.append)
        for cell in chosen.in_order():
            place = {n: v.quantity.value if v.quantity else 0 for n, v in cell.items()}
            true = truth(place)
            if told := chosen.left_out.get(cell_key(cell)):
                left += 1
                wrong += abs(told.value / true - 1) > within / 100
                continue
            each = [true * max(0.1, rng.gauss(1, spread)) for _ in range(SECONDS)]
            chosen.add(cell, rate_of(sum(each) / SECONDS, each))
        total += len(cells)
        refused += "measured" in notes[-1]
    return Errors(100 * left / total, 100 * wrong / max(left, 1), 100 * refused / turns)


def table() -> str:
    """A row a truth: how many cells are left out, and how many of these are off."""
    heads = (f"seconds differ by {100 * one:g} %" for one in SPREADS)
    lines = [
        f"| truth | within | {' | '.join(heads)} |",
        f"| --- | --- |{' --- |' * len(SPREADS)}",
    ]
    for name, truth in TRUTHS.items():
        for within in (2.0, 5.0):
            found = (_told(errors(truth, one, within)) for one in SPREADS)
            lines.append(f"| {name} | {within:g} % | {' | '.join(found)} |")
    return "\n".join(lines)


def _told(found: Errors) -> str:
    if found.refused_percent == 100:
        return "all measured"
    return f"{found.left_out_percent:.0f} %, {found.wrong_percent:.1f} %"
