"""What a witness saw is kept, and `ioplan plan` says so of this version alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.runner.prepare.witnessed import (
    JUDGED,
    keep,
    kept_words,
    nothing_kept,
    path_kept,
)

PLAN = """
test "Mix" { run random 4KiB 70/30 for 5s vary qd in 4, 8 }
test "Think" { run random 4KiB 70/30, qd 2, pause 10ms for 5s }
"""


def exact_lines(plan: Path, *words: str) -> list[str]:
    done = ioplan("plan", plan, *words)
    assert done.code == 0, done.err
    return [line for line in done.out.splitlines() if line.startswith("exact")]


def test_words_are_kept_by_version_and_options() -> None:
    old, new = (nothing_kept("fio", one, {}) for one in ("3.33", "3.42"))
    other = nothing_kept("fio", "3.33", {"engine": "libaio"})
    assert kept_words(old) == frozenset()
    keep(old, {"random", "qd", "zipf", "pause"}, ())
    keep(other, {"mix"}, ())
    assert kept_words(old) == {"random", "qd", "zipf"}, "pauses cannot be seen"
    assert kept_words(new) == frozenset() and kept_words(other) == {"mix"}
    keep(old, {"size"}, {"zipf"})
    assert kept_words(old) == {"random", "qd", "size"}
    path_kept().write_text("[{")
    assert kept_words(old) == frozenset(), "a file that is damaged says nothing"
    keep(new, {"mix"}, ())
    assert kept_words(new) == {"mix"}


def test_all_words_must_have_been_seen(tmp_path: Path) -> None:
    """`pause` is no word that a witness can see."""
    plan = plan_file(tmp_path, PLAN)
    declared = exact_lines(plan, "--backend", "io_uring")
    assert declared == ["exact by declaration: Mix, Think"]
    done = ioplan("plan", plan, "--backend", "io_uring", "--json")
    fit = json.loads(done.out)["fit"]
    programs = nothing_kept("io_uring", fit["version"], {})
    assert [one["witnessed"] for one in fit["tests"]] == [False, False]
    keep(programs, JUDGED - {"qd"}, ())
    assert exact_lines(plan, "--backend", "io_uring") == declared
    keep(programs, {"qd"}, ())
    assert exact_lines(plan, "--backend", "io_uring") == [
        f"exact, witnessed on io_uring {fit['version']}: Mix",
        "exact by declaration: Think",
    ]
    keep(programs, (), {"mix"})
    assert exact_lines(plan, "--backend", "io_uring") == declared


def test_simulated_io_has_no_witness(tmp_path: Path) -> None:
    assert exact_lines(plan_file(tmp_path, PLAN), "--backend", "sim") == []


@pytest.mark.long
@pytest.mark.usefixtures("can_mount")
def test_a_witness_is_believed(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN.splitlines()[1])
    done = ioplan("witness", plan, "--backend", "io_uring")
    assert done.code == 0, done.out
    (line,) = exact_lines(plan, "--backend", "io_uring")
    assert line.startswith("exact, witnessed on io_uring ") and line.endswith(": Mix")
