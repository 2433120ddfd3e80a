"""What each call imports, and no more: that decides how soon it answers."""

import json
import os
import sys
from functools import cache
from pathlib import Path

import pytest
from command import Done, ioplan, plan_file, program, succeed
from paths import ROOT, SUPPORT

from golden import Golden

pytestmark = pytest.mark.slow

DEMO = str(ROOT / "examples/demo.ioplan")
BROKEN = 'test "T" { run random 4KiB 100/0 fr 1s }'
WATCH = """
import sys
from ioplan.cli import main
sys.argv = ["ioplan", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
TO_SHOW = {"distributed", "jinja2", "plotext", "psycopg", "rich"}
LIBRARIES = TO_SHOW | {"lark", "msgspec", "numpy", "pydantic"}
"""Packages that take longer to import than Python to start."""
NOT_TO_CHECK = TO_SHOW | {"numpy", "importlib.metadata"}
NOT_TO_CHECK |= {"ioplan.backends.backend", "ioplan.job", "ioplan.runner.lab.lab_file"}
"""What a plan is checked without: packages, and models that take as long to make."""


def imported(*words, **env):
    """The modules that a call has imported when it ends."""
    done = program(
        sys.executable, "-c", WATCH, *words, check=True, env=os.environ | env
    )
    return set(done.stderr.splitlines()[-1].split())


@cache
def tables_are_made():
    """As a package has them; a checkout makes them on the first use."""
    imported("check", DEMO)


ASKED = {"_IOPLAN_COMPLETE": "complete_bash", "COMP_WORDS": "ioplan run --s"}
FORBIDDEN: dict[str, tuple[set[str], dict[str, str]]] = {
    "": (LIBRARIES, {}),
    "run --help": (LIBRARIES, {}),
    "(completion)": (LIBRARIES, ASKED),
    f"check {DEMO}": (NOT_TO_CHECK, {}),
    "check broken.ioplan": (NOT_TO_CHECK, {}),
    f"fmt --check {DEMO}": (NOT_TO_CHECK, {}),
    f"plan {DEMO}": ({"jinja2", "plotext", "psycopg"}, {}),
    "run plan.ioplan --backend sim --create 1MiB --quiet --store s.db": (
        {"jinja2", "procrastinate", "psycopg", "rich.live", "rich.progress"},
        {},
    ),
}
"""What each call does without, and its environment: help needs the table of commands
only, a run into a pipe nothing of labs, pages and terminals."""


@pytest.mark.parametrize("call", FORBIDDEN)
def test_a_call_imports_no_more_than_it_needs(call, tmp_path, monkeypatch):
    tables_are_made()
    monkeypatch.chdir(tmp_path)
    Path("broken.ioplan").write_text(BROKEN)
    Path("plan.ioplan").write_text('test "T" { run random 4KiB 100/0 for 10ms }')
    forbidden, env = FORBIDDEN[call]
    found = imported(*(() if env else call.split()), **env)
    assert found & forbidden == set()
    assert "ioplan.runner" in found or not call.startswith("run plan")


# without Linux: what writes, plans, rehearses and reports works, the rest says so

EXAMPLE = ROOT / "examples/demo.ioplan"
PLAN = 'test "T" { run random 4KiB 100/0 for 100ms\n vary qd in 1, 2 }'
SAME = (
    f"check {EXAMPLE}",
    f"plan {EXAMPLE} --capacity 512MiB",
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


def elsewhere(folder, *calls):
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
def test_other_systems(tmp_path, store_path, monkeypatch):
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
