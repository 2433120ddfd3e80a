"""Gaps of a backend: refused at the clause, or recorded as substitutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command import ioplan, plan_file
from ioplan.backends import Gap
from ioplan.job import Job
from ioplan.runner.features import FEATURES, answer
from ioplan_sim import SimBackend

PLAN = """workload steady_rate = random 4KiB 100/0, rate 1_000 iops

test "Paced" {
  run  steady_rate for 100ms
}

test "Deep" {
  run  random 4KiB 100/0, qd 64 for 100ms
  vary read in 100%, 50%
}
"""


def rate_and_depth(self: SimBackend, job: Job, options: dict[str, Any]) -> list[Gap]:
    """A backend that paces nearly, and has no queue depth above 32."""
    gaps = []
    for stream in job.streams:
        if stream.rate:
            gaps.append(
                Gap(
                    stream=stream.name,
                    field="rate",
                    reason="its clock is coarse",
                    instead="whole milliseconds",
                )
            )
        if stream.qd > 32:
            gaps.append(Gap(stream=stream.name, field="qd", reason="32 at most"))
    return gaps


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimBackend, "gaps", rate_and_depth)


def test_gaps_are_refused_with_the_caret_on_the_clause(
    limited: None, tmp_path: Path, store_path: Path
) -> None:
    done = ioplan("run", plan_file(tmp_path, PLAN), "--backend", "sim")
    assert done.code == 2 and done.out == ""
    blocks = done.err.strip().split("\n\n")
    assert len(blocks) == 2  # the same clause of two cells is said once
    assert blocks[0].splitlines()[3:5] == [
        " 1 | workload steady_rate = random 4KiB 100/0, rate 1_000 iops",
        "   |                                           ^^^^^^^^^^^^^^^",
    ]
    assert "with --allow-approximate: whole milliseconds" in blocks[0]
    assert "sim: 32 at most" in blocks[1] and "^^^^^" in blocks[1]
    assert ioplan("ls", "--format", "jsonl").out == ""


def test_what_cannot_be_approximated_is_refused_all_the_same(
    limited: None, tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("run", plan, "--backend", "sim", "--allow-approximate")
    assert done.code == 2
    assert "32 at most" in done.err and "coarse" not in done.err


def test_a_substitution_is_in_every_record(
    limited: None, tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, PLAN.replace("qd 64", "qd 8"))
    done = ioplan("run", plan, "--backend", "sim", "--allow-approximate", "--json")
    assert done.code == 0
    said = [line["record"]["substitutions"] for line in done.of("record")]
    assert said == [["main.rate: its clock is coarse; whole milliseconds"], [], []]


def test_a_precondition_that_cannot_be_done_exactly(
    limited: None, tmp_path: Path, store_path: Path
) -> None:
    text = "precondition p { write random 4KiB, qd 64, 1 pass }\n" + PLAN.replace(
        'test "Deep" {', 'test "Deep" { after p'
    ).replace("qd 64 for", "qd 4 for")
    done = ioplan(
        "run", plan_file(tmp_path, text), "--backend", "sim", "--allow-approximate"
    )
    assert done.code == 2 and "32 at most" in done.err


def test_the_matrix_asks_the_same_question(limited: None) -> None:
    backend = SimBackend()
    answers = {feature: answer(backend, {}, feature) for feature in FEATURES}
    assert answers["rate"] == answers["rate poisson"] == "nearly"
    assert answers["zipf"] == "exactly"
    assert "nearly" in ioplan("backends").out


def test_native_texts_are_shown_once(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("plan", plan, "--backend", "io_uring", "--show-native")
    assert done.code == 0
    assert done.out.count('"read_only"') == 3
    assert "# Paced" in done.out
