"""What `doctor --report` prints may be shown to everybody, and says enough."""

from __future__ import annotations

import getpass
import platform
from pathlib import Path

import pytest
from command import ioplan

from ioplan.cli.commands.doctor import redacted

PLAN = 'test "T" { run random 4KiB 100/0 for 1s }'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "olga"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("IOPLAN_STORE", str(folder / "r.db"))
    monkeypatch.setattr(getpass, "getuser", lambda: "olga")
    monkeypatch.setattr(platform, "node", lambda: "lab7.example.org")
    return folder


def test_it_says_versions_machine_and_the_last_session(home: Path) -> None:
    (home / "p.ioplan").write_text(PLAN)
    assert ioplan("run", home / "p.ioplan", "--backend", "sim").code == 0
    out = ioplan("doctor", "--report").out
    assert out.startswith("```\nioplan ") and out.endswith("```\n")
    assert platform.release() in out and "pydantic " in out and "engine" in out
    assert "last session: ok, by sim on a simulated drive" in out
    for name in ("olga", "lab7", "example.org", str(home)):
        assert name not in out


def test_without_a_session(home: Path) -> None:
    assert "no session yet" in ioplan("doctor", "--report").out


def test_a_store_that_cannot_be_read_is_part_of_the_report(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "r.db").write_bytes(b"no database " * 500)
    out = ioplan("doctor", "--report").out
    assert "no session can be read" in out and str(home) not in out


NAMED = {
    "home": "cannot read {home}/plans/x.ioplan",
    "user": "owned by olga, not by root",
    "host": "lab7.example.org does not answer; lab7 is away",
    "address": "connect to 192.168.17.4:8786 and fe80::1:2:3:4",
    "database": "postgresql://lab:secret@db7/results is away",
    "by-id": "/dev/disk/by-id/nvme-Samsung_SSD_980_S4EVNX0R123456 holds data",
    "wwn": "wwn-0x5000c500a1b2c3d4 and eui.0025385b01234567",
}


@pytest.mark.parametrize("name", NAMED)
def test_names_are_left_out(name: str, home: Path) -> None:
    found = redacted(NAMED[name].format(home=home))
    secrets = (
        "olga",
        "lab7",
        "192.168",
        "fe80",
        "secret",
        "db7",
        "S4EVN",
        "c500",
        "0025",
    )
    assert not [one for one in secrets if one in found], found


def test_words_that_only_contain_a_name_stay(home: Path) -> None:
    """And versions, times and sizes, which look like addresses."""
    text = "volgaless 3.42.1 at 10:20:31, kernel 6.18.5-amd64, 4KiB of 1.0 TB"
    assert redacted(text) == text
