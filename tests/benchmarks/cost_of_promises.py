"""What it costs `verify` to note what is promised: in a file, and on another host as well.

    .venv/bin/python tests/benchmarks/cost_of_promises.py [--rounds 9]

The first row is of the verifier's own thread, by a test of the engine. The second is CPU
time of the whole engine for a write of 4 KiB at queue depth 16 with `verify` and a flush
every 64, onto a file, with and without `ioplan journal serve` on this host by
TCP, in turn; the receiver's CPU time is not counted, but both share this machine's CPUs.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmark_row import tell

from ioplan.planner.run_id import digest
from ioplan.runner.journal.client import JournalLink
from ioplan.target_entry import JournalPlace
from ioplan_io_uring.backend import engine_path

sys.path.append(str(Path(__file__).parents[1] / "support"))
from served_journal import Served

ENGINE = Path(__file__).parents[2] / "plugins/io_uring/engine"
TEST = [
    "cargo",
    "test",
    "--release",
    "--",
    "--ignored",
    "--nocapture",
    "cost_of_promises",
]
FOUND = re.compile(r"(\d+) ns with promises, (\d+) ns without: (\S+) \((\S+) to (\S+),")
AIM = 1.3
SIZE_BYTES, RUN_NS = 64 << 20, 1_000_000_000


class Done(NamedTuple):
    """A run of a second."""

    iops: float
    cpu_ns: float
    """CPU time per write of the whole process."""


def engine(folder: Path, journal: JournalPlace | None = None) -> Done:
    """One run on the file `disk`, with a new file of stamps."""
    stamps, disk = folder / "stamps", folder / "disk"
    stamps.unlink(missing_ok=True)
    sizes = [{"size_bytes": 4096, "percent": 100.0}]
    stream = {
        "name": "main", "pattern": "random", "read_percent": 0.0, "qd": 16,
        "read_sizes": sizes, "write_sizes": sizes, "region_start_bytes": 0,
        "region_end_bytes": SIZE_BYTES, "threads": 1, "verify": True, "sync_every": 64,
    }  # fmt: skip
    job = {
        "target": str(disk), "capacity_bytes": SIZE_BYTES, "block_bytes": 4096,
        "streams": [stream], "run_ns": RUN_NS, "interval_ns": RUN_NS,
        "stamps": str(stamps), "read_only": False,
    }  # fmt: skip
    link = JournalLink(journal, digest("cost")) if journal else None
    fds = (link.fileno(),) if link else ()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [engine_path(), "run", "-"],
        input=json.dumps(job | ({"journal_fd": fds[0]} if fds else {})),
        capture_output=True, text=True, check=True, pass_fds=fds,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if link:
        link.close()
    result = json.loads(done.stdout.splitlines()[-1])
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ios = result["streams"][0]["directions"]["write"]["ios"]
    return Done(ios / result["run_ns"] * 1e9, cpu_s / ios * 1e9)


def in_a_file() -> None:
    """The row of the verifier's own thread."""
    found = FOUND.search(
        subprocess.run(
            TEST, cwd=ENGINE, capture_output=True, text=True, check=True
        ).stdout
    )
    if not found:
        raise SystemExit("the engine's test printed no figure")
    with_ns, without_ns, ratio, low, high = found.groups()
    tell(
        "`verify`, CPU time of a write with promises noted in a file over without",
        f"{ratio} ({low} to {high}, {with_ns} ns over {without_ns})",
        f"at most {AIM}",
        held=float(ratio) <= AIM,
    )


def by_tcp(rounds: int) -> None:
    """The row of the whole engine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "disk").write_bytes(bytes(SIZE_BYTES))
        served = Served(folder)
        place = JournalPlace(at=served.at, key=str(served.key))
        try:
            pairs = [(engine(folder), engine(folder, place)) for _ in range(rounds)]
        finally:
            served.kill()
    costs = sorted(far.cpu_ns / near.cpu_ns for near, far in pairs)
    cost = statistics.median(costs)
    rates = statistics.median(far.iops / near.iops for near, far in pairs)
    near, far = (
        statistics.median(each.cpu_ns for each in side)
        for side in zip(*pairs, strict=True)
    )
    tell(
        "`verify`, the engine's CPU time of a write with a journal by TCP over without",
        f"{cost:.2f} ({costs[0]:.2f} to {costs[-1]:.2f}, {far:.0f} ns over {near:.0f}; "
        f"{rates:.2f} of the IOPS)",
        f"at most {AIM}",
        held=cost <= AIM,
    )


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    in_a_file()
    by_tcp(rounds)


if __name__ == "__main__":
    main()
