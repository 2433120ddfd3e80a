"""What `run` says of a seek whose short runs are no proof, by its command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import scripted
from command import Done, ioplan, plan_file

from ioplan.records import Found
from ioplan.results.store import Store

PLAN = """plan "S"
test "S" {{
  run random 4KiB 100/0, qd 8 for 30s
  seek highest rate in 1_000 iops..200_000 iops where p99 <= 1ms, within 5%
{expected}  headline rate
}}
"""
TRUTH = 20_000


def sought(folder: Path, target: str, seed: int, *limits: int) -> tuple[Done, Found]:
    expected = "".join(f"  expect rate >= {one} iops\n" for one in limits)
    plan, store = plan_file(folder, PLAN.format(expected=expected)), folder / "s.db"
    options = ("--option", f"target={target}", "--option", f"seed={seed}")
    done = ioplan("run", plan, "--backend", "scripted", *options, "--store", store)
    with Store.open(store) as opened:
        session = opened.session("last")
        (found,) = (r.found for r in opened.records(session.id) if r.found)
    return done, found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(scripted.install(tmp_path / "installed")))
    return tmp_path


@pytest.mark.parametrize(
    ("target", "seed"), [("credit", 1), ("credit", 2), ("stalling credit", 3)]
)
@pytest.mark.promise("seek.unconfirmed")
def test_what_a_credit_bears_for_a_time_holds_no_expectation(
    folder: Path, target: str, seed: int
) -> None:
    """45 s bear any rate, runs are of 30 s: only long runs find what is sustained."""
    done, found = sought(folder, target, seed, 2 * TRUTH)
    assert done.code == 1
    assert "1 undecided" in done.out or "1 failed" in done.out
    headline = " ".join(done.out.partition("Headlines")[2].split())
    assert found.value is None or found.yes_at is not None
    if found.confirmed:
        assert found.value and found.value <= TRUTH * 1.01
        assert found.no_at and found.no_at >= TRUTH
        assert "not confirmed" not in headline
    else:
        assert "not confirmed by a long run" in headline or "no figure" in headline


@pytest.mark.promise("seek.undecided")
def test_a_limit_between_yes_and_no_is_undecided(folder: Path) -> None:
    """The value is the last yes, and the truth above it, up to the no."""
    _, found = sought(folder, "credit", 1, 1_000)
    assert found.value and found.no_at and found.confirmed
    middle = round((found.value + found.no_at) / 2)
    limits = (round(found.value), middle, round(found.no_at))
    done, again = sought(folder, "credit", 1, *limits)
    assert again.value == found.value and done.code == 1
    for limit, verdict in zip(limits, ("held", "undecided", "failed"), strict=True):
        assert re.search(rf"{verdict}.*expect rate >= {limit}", done.out), done.out
