"""`ioplan plan` on several targets: each has a lane, and all rates for itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed

NOTE = "each of the 2 targets gets each rate of the plan in full"
RATED = 'test "T" { run random 4KiB 100/0, rate 300 iops for 1s }'
CLOSED = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Two targets, of which only the first is a file, and a group of both."""
    (tmp_path / "a.bin").write_bytes(bytes(1 << 20))
    lab = tmp_path / "lab.toml"
    entries = (f'[targets.{n}]\npath = "{tmp_path}/{n}.bin"\n' for n in "ab")
    lab.write_text("\n".join(entries) + '[groups]\nboth = ["a", "b"]\n')
    return lab


def test_a_plan_with_a_rate_says_that_it_is_not_shared(
    tmp_path: Path, lab: Path
) -> None:
    plan = plan_file(tmp_path, RATED)
    for words in (("both",), ("a", "--target", "b")):
        done = succeed("plan", plan, "--lab", lab, "--target", *words)
        assert NOTE in done.err
    done = ioplan("plan", plan, "--lab", lab, "--target", "both", "--json")
    assert NOTE in done.err
    assert json.loads(done.out)


def test_one_target_or_no_rate_has_no_note(tmp_path: Path, lab: Path) -> None:
    for text, target in ((RATED, "a"), (CLOSED, "both")):
        plan = plan_file(tmp_path, text)
        done = ioplan("plan", plan, "--lab", lab, "--target", target)
        assert (done.code, done.err) == (0, "")


SHARED = """test "T" {
  run random 4KiB 100/0, rate 300 iops over all, on targets a, b for 1s
}"""


def test_a_plan_that_shares_a_rate_has_one_job_and_no_note(
    tmp_path: Path, lab: Path
) -> None:
    (tmp_path / "b.bin").write_bytes(bytes(2 << 20))
    plan = plan_file(tmp_path, SHARED)
    words = ("plan", plan, "--lab", lab, "--target", "both")
    done = ioplan(*words)
    assert (done.code, done.err) == (0, "")
    native = ioplan(*words, "--backend", "io_uring", "--show-native").out
    job = json.loads(native.partition("\n")[2])
    assert [one["name"] for one in job["targets"]] == ["a", "b"]
    assert job["streams"][0]["target_numbers"] == [0, 1]
    assert job["capacity_bytes"] == 1 << 20
