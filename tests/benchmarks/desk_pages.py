"""What the desk's pages cost on a store: the CPU time of the server for each, in s.

`desk_store.py` calls it on a store of a million runs. The server is a process of its own,
asked over loopback as a browser does it, each page three times; the median counts.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from benchmark_row import tell

TICKS = os.sysconf("SC_CLK_TCK")
PAGES = {
    "Now": "/",
    "Sessions": "/sessions",
    "Sessions of a drive": "/sessions?drive=lab7",
    "Sessions, its last page": "/sessions?page=100",
    "Drives": "/drives",
    "Drives, its last page": "/drives?page=40",
    "Drives, a search": "/drives?text=lab77",
    "A drive": "/drives/lab7",
    "A host": "/hosts/host7",
    "Queue": "/queue",
}
TIMES, MOST_S = 3, 1.0


def pages(place: str, on: str, lab: str) -> None:
    """Print a row for each page; `lab` is the lab file."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(place, Path(folder), lab) as server,
    ):
        for name, path in PAGES.items():
            used = [server.asked(path) for _ in range(TIMES)]
            cpu_s = statistics.median(one for one, _ in used)
            tell(
                f"the desk's page {name} on {on}",
                f"{cpu_s:.2f} s of CPU time, {used[0][1] / 1e3:.0f} kB",
                f"at most {MOST_S:g} s",
                held=cpu_s <= MOST_S,
            )


class Server:
    """A desk, and the token of its first admin."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        text = ""
        while "ioplan_" not in text:
            line = process.stdout.readline()
            assert line, text
            text += line
        found = re.search(r"http://([\d.]+:\d+)/", text)
        assert found, text
        self.address, self.token = found[1], text.split()[-1]

    def asked(self, path: str) -> tuple[float, int]:
        """CPU time of the server for a page, and the page's bytes."""
        before = self.cpu_s()
        connection = HTTPConnection(self.address, timeout=120)
        connection.request(
            "GET", path, headers={"Authorization": f"Bearer {self.token}"}
        )
        answer = connection.getresponse()
        size = len(answer.read())
        assert answer.status == 200, (path, answer.status)
        connection.close()
        return self.cpu_s() - before, size

    def cpu_s(self) -> float:
        """In user and kernel, so far."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS


@contextmanager
def served(place: str, folder: Path, lab: str) -> Iterator[Server]:
    """A desk on this store, with a folder for its own things."""
    is_shared = "://" in place
    results = f'results = "{place}"\n' if is_shared else ""
    (folder / "lab.toml").write_text(results + lab)
    words = ["lab", "serve", "--listen", "127.0.0.1:0"]
    words += ["--lab", str(folder / "lab.toml")]
    words += [] if is_shared else ["--store", place]
    names = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    process = subprocess.Popen(
        [sys.executable, "-m", "ioplan.cli", *words],
        env=os.environ | dict.fromkeys(names, str(folder)),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Server(process)
    finally:
        process.terminate()
        process.wait(30)
