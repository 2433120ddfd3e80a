"""Without Linux: what writes, plans, rehearses and reports works, the rest says so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from command import Done, ioplan, plan_file, program, succeed
from paths import ROOT, SUPPORT

from golden import Golden

pytestmark = pytest.mark.slow

DEMO = ROOT / "examples/demo.ioplan"
PLAN = 'test "T" { run random 4KiB 100/0 for 100ms\n vary qd in 1, 2 }'
SAME = (
    f"check {DEMO}",
    f"plan {DEMO} --capacity 512MiB",
    "plan plan.ioplan --capacity 64MiB --rehearse",
    "import clauses.fio",
    "explain zipf",
    "suites",
    "ls",
    "show last",
    "export last --format csv",
    "schema",
    "--version",
)
"""What writes the same on all systems."""
NOT_HERE = ("run plan.ioplan --backend sim --create 64MiB", "targets", "resume")


def elsewhere(folder: Path, *calls: str) -> dict[str, Done]:
    """What each call does on a system that is not Linux, in one process."""
    done = program(
        sys.executable,
        SUPPORT / "other_system.py",
        *calls,
        cwd=folder,
        env=os.environ | {"COLUMNS": "80"},
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(calls), done.stderr
    return {
        one: Done(**json.loads(line)) for one, line in zip(calls, lines, strict=True)
    }


@pytest.mark.long
@pytest.mark.promise("first_minutes.elsewhere")
def test_other_systems(
    tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan_file(tmp_path, PLAN)
    Golden("imports")["clauses.fio"].put(tmp_path)
    succeed("run", "plan.ioplan", "--backend", "sim", "--create", "64MiB")
    files = ("report last -o report.html", "new --template depth new.ioplan")
    found = elsewhere(tmp_path, *SAME, *files, "fmt new.ioplan", *NOT_HERE)
    for words in SAME:
        assert found[words] == ioplan(*words.split()), words
    for words in files:
        assert found[words].code == 0, found[words].err
    assert "</html>" in (tmp_path / "report.html").read_text()
    for words in NOT_HERE:
        assert found[words].code == 2
        assert "needs Linux; elsewhere ioplan writes" in found[words].err
