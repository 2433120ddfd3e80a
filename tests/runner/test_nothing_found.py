"""A seek that finds nothing is an exit code, unless the plan goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan, plan_file

PLAN = """test "S" {
  run  random 4KiB 100/0 for 20ms
  vary size in 4KiB, 8KiB
  seek highest qd in 1..4 where mean <= 1ns
}"""
GOES_ON = f"on nothing found continue\n{PLAN}"


@pytest.mark.parametrize(("text", "code"), [(PLAN, 1), (GOES_ON, 0)])
@pytest.mark.promise("exit_codes.nothing_found")
def test_an_exit_code(text: str, code: int, tmp_path: Path, store_path: Path) -> None:
    done = ioplan("run", plan_file(tmp_path, text), "--backend", "sim")
    assert done.code == code, done.err
    assert "nothing found: S: size=4KiB: no qd that was tried held: no at 1" in done.out
    assert done.out.count("nothing found: S") == 2


USES = """
test "Uses" {
  run random 4KiB 100/0, qd 8, rate 50% of "S" for 20ms
  vary size in 4KiB, 8KiB
  expect iops > 1 iops
}"""


@pytest.mark.parametrize(("text", "code"), [(PLAN, 1), (GOES_ON, 0)])
def test_what_uses_it_is_skipped_and_no_failure(
    text: str, code: int, tmp_path: Path, store_path: Path
) -> None:
    text = text.replace("qd in 1..4", "rate in 1_000 iops..4_000 iops")
    done = ioplan("run", plan_file(tmp_path, text + USES), "--backend", "sim")
    assert done.code == code and "to continue" not in done.out, done.err
    assert "'S' found nothing where size=4KiB (and 1 more skipped)" in done.out
    assert "expectations: 2 not measured" in done.out


def test_what_was_found_is_none(tmp_path: Path, store_path: Path) -> None:
    done = ioplan(
        "run", plan_file(tmp_path, PLAN.replace("1ns", "10s")), "--backend", "sim"
    )
    assert done.code == 0 and "nothing found" not in done.out
