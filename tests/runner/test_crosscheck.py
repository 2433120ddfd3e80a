"""Two backends on the same cells, and what can be said of the ratio."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.cli.commands import crosscheck
from ioplan.language.metric import Metric
from ioplan.runner.crosscheck import MetricRatio, Pairs, ratio_interval, run_interleaved

READS = 'test "R" { run random 4KiB 100/0 for 100ms vary qd in 1, 4 }'


def test_the_interval_is_students() -> None:
    """Against a worked example: ratios 1.1, 1.2, 1.3, 1.2 by hand."""
    found = ratio_interval([100.0] * 4, [110.0, 120.0, 130.0, 120.0])
    assert found.ratio == pytest.approx(1.19791, abs=1e-4)
    assert (found.low, found.high) == pytest.approx((1.0747, 1.3353), abs=2e-4)
    assert found.verdict == "differ"


def test_agree_and_undecided() -> None:
    assert ratio_interval([100, 101, 99], [100, 101, 99]).verdict == "agree"
    assert ratio_interval([100, 100, 100], [80, 120, 100]).verdict == "undecided"


def test_alike_backends_seldom_differ() -> None:
    """95 % confidence: about 5 of 100 comparisons of the same thing are off."""
    rng = random.Random(1)

    def values() -> list[float]:
        return [rng.lognormvariate(0, 0.1) for _ in range(6)]

    wrong = 0
    for _ in range(400):
        found = ratio_interval(values(), values())
        wrong += not found.low <= 1 <= found.high
    assert 8 <= wrong <= 34


def test_the_order_turns_round() -> None:
    order: list[int] = []

    pairs = Pairs("T", {})
    pairs.add = lambda side, record, detail: None  # type: ignore[method-assign]
    run_interleaved(lambda which: (order.append(which), None), pairs, 3)  # type: ignore[func-returns-value, arg-type, return-value]
    assert order == [0, 1, 1, 0, 0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "code", "word"),
    [
        ((100.0, 100.1), 0, "agree"),
        ((60.0, 160.0), 1, "undecided"),
        ((40.0, 41.0), 1, "differ"),
    ],
)
def test_only_agreement_is_a_success(
    values: tuple[float, float],
    code: int,
    word: str,
    tmp_path: Path,
    store_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = MetricRatio(
        "R", {"qd": "1"}, Metric(name="iops"), 100.0, values[0],
        ratio_interval([100.0, 100.0], values),
    )  # fmt: skip
    monkeypatch.setattr(crosscheck, "_measured", lambda *_: [found])
    done = ioplan(
        "crosscheck", plan_file(tmp_path, READS), "--backends", "io_uring,sim",
        "--target", tmp_path / "s.bin", "--create", "16MiB",
    )  # fmt: skip
    assert done.code == code and word in done.out, done.err
    assert ("more --rounds" in done.out) == (word == "undecided")


@pytest.mark.slow
def test_two_backends_on_a_file(tmp_path: Path, store_path: Path) -> None:
    done = ioplan(
        "crosscheck", plan_file(tmp_path, READS), "--backends", "io_uring,sim",
        "--target", tmp_path / "s.bin", "--create", "16MiB", "--rounds", "2",
    )  # fmt: skip
    assert done.code in (0, 1), done.err
    assert "qd=4" in done.out and "95 % interval" in done.out
    sessions = ioplan("ls", "--format", "jsonl").lines
    assert {(s["backend"], s["runs"]) for s in sessions} == {
        ("io_uring", 4),
        ("sim", 4),
    }
    assert {s["status"] for s in sessions} == {"ok"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backends", "sim"), "two names"),
        (("--backends", "sim,sim"), "two names"),
        (("--backends", "sim,nope"), "no backend 'nope'"),
        (("--backends", "sim,io_uring", "--rounds", "1"), "2 or more"),
        (("--backends", "sim,io_uring"), "no target is named"),
    ],
)
def test_bad_calls(
    arguments: tuple[str, ...], message: str, tmp_path: Path, store_path: Path
) -> None:
    done = ioplan("crosscheck", plan_file(tmp_path, READS), *arguments)
    assert done.code == 2 and message in done.err
