"""A lab's database that is away: one clear error, soon, and never a count of 0."""

import json
import re
import socket
import time

import pytest
from command import ioplan

pytestmark = pytest.mark.slow
MOST_S = 5.0


@pytest.fixture
def silent(tmp_path, monkeypatch):
    """The state folder of who has a lab whose server takes connections, and no more."""
    monkeypatch.delenv("IOPLAN_STORE", raising=False)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("IOPLAN_LAB", str(tmp_path / "lab.toml"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"postgresql://ada@127.0.0.1:{server.getsockname()[1]}/ioplan"
        (tmp_path / "lab.toml").write_text(f'results = "{address}"\n')
        yield tmp_path / "ioplan"


@pytest.mark.parametrize("words", [("ls",), ("lab", "drives")])
def test_it_is_an_error_soon(silent, words):
    begun_s = time.monotonic()
    done = ioplan(*words)
    assert time.monotonic() - begun_s < MOST_S
    assert done.code != 0 and done.out == ""
    assert "postgresql://ada@127.0.0.1" in done.err
    assert len(done.err.splitlines()) < 4, done.err


def test_status_says_what_it_knew(silent):
    known = {"job": "J1", "stored": 88, "total": 90, "at_s": time.time() - 40}
    (silent / "lab").mkdir(parents=True)
    (silent / "lab" / "last.json").write_text(json.dumps(known))
    done = ioplan("lab", "status")
    assert done.code == 3
    assert re.search(r"unknown; 88 of 90 when last asked, 4\d s ago", done.out)
    done = ioplan("lab", "status", "J2")
    assert (done.code, done.out) == (3, "J2: unknown; never asked here\n")
