"""`ioplan lab up --here`: a lab of one host, with a PostgreSQL of its own."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from command import ioplan, plan_file
from postgres import NEEDS_POSTGRES

pytestmark = [*NEEDS_POSTGRES, pytest.mark.long]
PLAN = 'test "T" { run random 4KiB 100/0 for 200ms vary qd in 1, 2 }'
MOST_S = 60.0


@pytest.fixture
def place(monkeypatch):
    """A short folder, which the server's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="ioplan-here-", dir="/tmp"))
    folder.chmod(0o755)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("IOPLAN_STORE", str(folder / "store.db"))
    monkeypatch.setenv("IOPLAN_LAB", str(folder / "lab.toml"))
    monkeypatch.setattr("ioplan_lab.here.own_postgres.OF_ROOT", folder / "postgres")
    try:
        yield folder
    finally:
        ioplan("lab", "down", "--here")
        shutil.rmtree(folder, ignore_errors=True)


def test_a_lab_is_made_used_stopped_and_started_again(place):
    lab = place / "lab.toml"
    lab.write_text('backend = "sim"   # ours\n[targets.a]\npath = "/sim/a"\n')
    lab.chmod(0o600)
    begun_s = time.monotonic()
    begun = ioplan("lab", "up", "--here")
    assert begun.code == 0, begun.err
    assert time.monotonic() - begun_s < MOST_S
    made = lab.read_text()
    assert '[targets.a]\npath = "/sim/a"' in made
    assert "# ours" in made
    assert "writable" not in made
    assert ioplan("lab", "up", "--here").code == 0
    assert lab.read_text() == made
    words = ("--on", "drive a", "--create", "1GiB")
    done = ioplan("run", plan_file(place, PLAN), *words)
    assert done.code == 0, done.err
    assert "2 of 2 runs stored" in done.out
    assert "is down" in ioplan("lab", "down", "--here").out
    away = ioplan("lab", "status")
    assert away.code == 3
    assert "unknown; 2 of 2 when last asked" in away.out
    assert ioplan("lab", "up", "--here").code == 0
    assert "2 of 2 runs stored" in ioplan("lab", "status").out
    assert ioplan("lab", "down", "--here").code == 0
    assert ioplan("lab", "up", "--here").code == 0
    assert ioplan("run", plan_file(place, PLAN), *words).code == 0, "by a new worker"


def test_other_results_are_left_as_they_are(place):
    lab = place / "lab.toml"
    lab.write_text('results = "postgresql://db/ioplan"\n')
    lab.chmod(0o600)
    done = ioplan("lab", "up", "--here")
    assert done.code == 2
    assert "names other results already" in done.err
    assert os.listdir(place / "postgres")  # noqa: PTH208
