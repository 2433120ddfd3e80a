"""Three commands bring up a desk with two hosts, where a person works on its pages.

The hosts are network namespaces, reached by ssh; TLS, PostgreSQL and Chromium are real.
"""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from netlab import NEEDS_NETNS, NetLab, netlab

pytestmark = [*NEEDS_NETNS, pytest.mark.long]
PERSON = Path(__file__).with_name("at_the_desk.py")
SUPPORT = Path(__file__).parents[1] / "support"


@contextmanager
def served(lab: NetLab) -> Iterator[str]:
    """Where the desk is."""
    process = lab.coordinator.begin("lab", "serve", "--lab", lab.file)
    try:
        assert process.stdout
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line
        yield found[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def test_a_person_starts_watches_and_compares(tmp_path: Path) -> None:
    with netlab(tmp_path, "h1", "h2", shared=True) as lab:
        up = lab.coordinator.ioplan("lab", "up", "--lab", lab.file)
        assert up.returncode == 0, up.stderr
        words = ("lab", "people", "add", "ada", "--role", "operator")
        told = lab.coordinator.ioplan(*words, "--lab", lab.file).stdout
        token = told.split()[-1]
        with served(lab) as url:
            words = (sys.executable, PERSON, url, token, tmp_path)
            done = subprocess.run(
                lab.coordinator.command("env", f"PYTHONPATH={SUPPORT}", *words),
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        assert "h1-drive" in done.stdout and "h2-drive" in done.stdout
        assert lab.database
        place = ("--store", lab.database.address)
        listed = lab.coordinator.ioplan("ls", "--format", "csv", *place)
        rows = list(csv.DictReader(listed.stdout.splitlines()))
        assert [one["person"] for one in rows] == ["ada", "ada"]
        assert {one["runs"] for one in rows} == {"3"}
