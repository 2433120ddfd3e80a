"""`ioplan witness`: a plan's clauses, as they arrive at the device."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan_io_uring import engine_path

PLAN = """
test "Mix" { run random 4KiB 70/30 for 5s vary qd in 1, 4, 8 }
test "Log" { run sequential 16KiB 0/100, sync every 8 for 5s }
"""


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    [
        "io_uring",
        pytest.param(
            "fio",
            marks=pytest.mark.skipif(
                not shutil.which("fio"), reason="LEFT OUT: fio is not installed"
            ),
        ),
    ],
)
@pytest.mark.usefixtures("can_mount")
def test_each_clause_is_compared(tmp_path: Path, backend: str) -> None:
    """The ends of a matrix, in a second each."""
    done = ioplan("witness", plan_file(tmp_path, PLAN), "--backend", backend, "--json")
    cells = {(one["test"], one["cell"].get("qd")) for one in done.lines}
    assert cells == {("Mix", "1"), ("Mix", "8"), ("Log", None)}
    names = {one["name"] for one in done.lines}
    assert {"read share", "depth", "sync", "order", "data", "region"} <= names
    assert done.code == 0, [one for one in done.lines if one["verdict"] == "differs"]


OTHER_DEPTH = """#!/bin/bash
[ "$1" = run ] || exec {engine} "$@"
exec {engine} "$@" < <(sed -u '1s/"qd": *1,/"qd":8,/')
"""


@pytest.mark.slow
@pytest.mark.usefixtures("can_mount")
def test_what_differs_is_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine is asked for one depth, and takes another."""
    program = tmp_path / "engine"
    program.write_text(OTHER_DEPTH.format(engine=engine_path()))
    program.chmod(0o755)
    monkeypatch.setenv("IOPLAN_ENGINE", str(program))
    text = 'test "One" { run random 4KiB 100/0, qd 1 for 1s }'
    done = ioplan("witness", plan_file(tmp_path, text), "--backend", "io_uring")
    assert done.code == 1 and "DIFFERS" in done.out and "depth" in done.out, done


def test_what_is_simulated_cannot_be_seen(tmp_path: Path) -> None:
    done = ioplan("witness", plan_file(tmp_path, PLAN), "--backend", "sim")
    assert done.code == 2 and "simulates its I/O" in done.err
