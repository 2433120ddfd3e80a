"""`ioplan lab up --here`: a lab of one host, with a PostgreSQL of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ioplan, plan_file
from postgres import needs_postgres

from ioplan.results.store import Store
from ioplan.runner import read_lab
from ioplan_lab.cluster.hosts import own_postgres
from ioplan_lab.cluster.hosts.own_postgres import MOST_SOCKET_PATH, OwnPostgres

MOST_CPU_S = 10.0
"""A lab of one host is up within a minute also on a CPU that others want too."""
PLAN = 'test "T" { run random 4KiB 100/0 for 200ms vary qd in 1, 2 }'


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder, which the server's user may enter, and that of its server."""
    folder = Path(tempfile.mkdtemp(prefix="ioplan-here-", dir="/tmp"))
    folder.chmod(0o755)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setattr(own_postgres, "OF_ROOT", folder / "ioplan/postgres")
    try:
        yield folder / "ioplan/postgres"
    finally:
        OwnPostgres().stop()
        shutil.rmtree(folder)


def cpu_s() -> float:
    """Of this process and of the programs that it has called."""
    return sum(os.times()[:4])


@needs_postgres
@pytest.mark.long
def test_a_lab_is_made_started_used_and_stopped(
    tmp_path: Path, place: Path, store_path: Path
) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text('backend = "sim"   # ours\n[targets.a]\npath = "/sim/a"\n')
    before_s = cpu_s()
    begun = ioplan("lab", "up", "--here", "--lab", lab)
    assert begun.code == 0, begun.err
    assert cpu_s() - before_s < MOST_CPU_S
    assert f"the database is up, in {place}\n" in begun.out
    address = read_lab(lab).results
    assert address and address.endswith(f"host={place}")
    made = lab.read_text()
    assert '[targets.a]\npath = "/sim/a"' in made and "# ours" in made
    assert "writable = true" not in made
    again = ioplan("lab", "up", "--here", "--lab", lab)
    assert again.code == 0 and f"{place} already" in again.out
    assert lab.read_text() == made
    target = ("--target", "a", "--create", "1GiB", "--lab", lab)
    done = ioplan("run", plan_file(tmp_path, PLAN), *target)
    assert done.code == 0, done.err
    assert ioplan("lab", "drives", "--lab", lab).code == 0
    with Store.at(address) as shared:
        (seen,) = shared.overview()
    assert (seen.status, seen.runs) == ("ok", 2)
    assert "ended" in ioplan("lab", "down", "--here").out
    assert "was not up" in ioplan("lab", "down", "--here").out
    assert ioplan("lab", "up", "--here", "--lab", lab).code == 0
    with Store.at(address) as shared:
        assert [one.id for one in shared.overview()] == [seen.id]


@needs_postgres
@pytest.mark.long
def test_what_was_cut_off_is_made_anew(place: Path) -> None:
    (place / "part").mkdir(parents=True)
    (place / "part/PG_VERSION").write_text("half")
    server = OwnPostgres()
    assert server.start() and server.is_up
    assert not (place / "part").exists()
    assert {one.stat().st_mode & 0o077 for one in (place, server.data)} == {0}


@pytest.mark.parametrize(
    "text",
    ['results = "postgresql://lab@db/x"', "[hosts.h1]\n", 'results = "/a.db"'],
)
def test_another_lab_is_left_alone(place: Path, tmp_path: Path, text: str) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(text)
    done = ioplan("lab", "up", "--here", "--lab", lab)
    assert done.code == 2 and "for one of this host alone name another" in done.err
    assert lab.read_text() == text and not place.exists()
    named = ioplan("lab", "up", "h1", "--here", "--lab", lab)
    assert named.code == 2 and "name no others" in named.err


def test_what_cannot_be_started_says_why(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tmp_path / "new/lab.toml"
    with monkeypatch.context() as bare:
        bare.setattr(own_postgres, "PROGRAMS", ())
        bare.setenv("PATH", str(tmp_path))
        done = ioplan("lab", "up", "--here", "--lab", lab)
    assert done.code == 2 and "there is no initdb of PostgreSQL" in done.err
    long = place.with_name("x" * MOST_SOCKET_PATH)
    monkeypatch.setattr(own_postgres, "OF_ROOT", long)
    monkeypatch.setenv("XDG_STATE_HOME", str(long))
    done = ioplan("lab", "up", "--here", "--lab", lab)
    assert done.code == 2 and "too long for a socket" in done.err
    assert not lab.exists()
