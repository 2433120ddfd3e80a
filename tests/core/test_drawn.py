"""Drawn examples: the same in each test run, and kept when a soak finds one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import paths
import pytest
import soak

pytestmark = pytest.mark.slow

NO_OTHERS = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "xdist.plugin,_hypothesis_pytestplugin",
}
"""Half of a start is the time of other plug-ins."""
DRAWN = """
from pathlib import Path
from hypothesis import example, given, strategies as st

@given(st.integers(0, 10**6))
def test_it(n):
    with Path(__file__).with_name("drawn.txt").open("a") as file:
        print(n, file=file)
    assert n < LIMIT
"""


def called(folder: Path, limit: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder with one such test."""
    (folder / "drawn.txt").write_text("")
    (folder / "test_it.py").write_text(DRAWN.replace("LIMIT", str(limit)))
    own = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=own | {"PYTHONPATH": str(paths.TESTS / "support"), **NO_OTHERS},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.long
def test_two_runs_draw_the_same(tmp_path: Path) -> None:
    drawn = []
    for _ in range(2):
        done = called(
            tmp_path, 10**7, "-m", "pytest", "-p", "drawn", "-q", "test_it.py"
        )
        assert done.returncode == 0, done.stdout
        drawn.append((tmp_path / "drawn.txt").read_text())
    assert drawn[0] == drawn[1] and len(drawn[0].splitlines()) >= 40


@pytest.mark.long
def test_a_soak_draws_others_until_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    called(tmp_path, 10**7, "-c", "")  # writes the test
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(paths.SUPPORT))
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    for name, value in NO_OTHERS.items():
        monkeypatch.setenv(name, value)
    clock = iter([0.0, 0.0, 300.0, 600.0])
    monkeypatch.setattr(soak.time, "monotonic", lambda: next(clock))
    assert soak.main(600, ["-p", "drawn", "test_it.py"]) == 0
    assert "nothing found in 2 rounds" in capfd.readouterr().out
    numbers = (tmp_path / "drawn.txt").read_text().split()
    assert len(numbers) == 200 and len(set(numbers)) > 150


@pytest.mark.long
def test_what_a_soak_finds_stands_in_the_test(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    program = str(paths.SUPPORT / "soak.py")
    done = called(tmp_path, 1000, program, "60", "-p", "drawn", "test_it.py")
    assert done.returncode == 1, done.stdout + done.stderr
    found = "".join((tmp_path / "test_it.py").read_text().split())
    assert "@example(n=1000" in found


@pytest.mark.long
def test_what_fails_as_the_time_ends_is_found(tmp_path: Path) -> None:
    """The only test takes longer than there is time, and fails."""
    words = ("-m", "pytest", "-p", "drawn", "-q", "--seconds=0.01", "test_it.py")
    done = called(tmp_path, 0, *words)
    assert "the time is over" in done.stdout + done.stderr
    assert done.returncode == 1, done.stdout
    assert called(tmp_path, 10**7, *words).returncode == 0
