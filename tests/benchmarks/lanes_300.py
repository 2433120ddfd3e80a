"""What 300 drives on one host cost: `python tests/benchmarks/lanes_300.py [BACKEND] [N]`.

A group of N targets, 300 unless told, on the simulated drive or on another backend
(scratch files of 16 MiB). Every two seconds each lane is read with the programs that it
has started: PSS, with its part of what it shares (/proc/PID/smaps_rollup), and RSS.
Printed are the lanes at the moment at which they took most together.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmark_row import tell
from used import IOPLAN

LANES = 300
LANE, LANE_MIB = "ioplan lane ", 20.0
PLAN = 'test "T" {\n  run random 4KiB 70/30 for 20s\n  vary qd in 1, 4, 16\n}\n'
ALL_S, SOME_S, MANY = 2.0, 0.2, 40


class Used(NamedTuple):
    """The memory of a lane with all below it, in MiB."""

    pss: float
    rss: float


def main() -> None:
    """Run the group, watch it, print."""
    backend = sys.argv[1] if sys.argv[1:] else "sim"
    count = int(sys.argv[2]) if sys.argv[2:] else LANES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with subprocess.Popen(
            command(folder, backend, count),
            env=os.environ | {"IOPLAN_STORE": str(folder / "store.db")},
            stdout=subprocess.DEVNULL,
        ) as client:
            found = watched(client, SOME_S if count <= MANY else ALL_S)
    print(f"{len(found)} at a time, exit code {client.returncode}")
    for kind, values in zip(("PSS", "RSS"), zip(*found, strict=True), strict=True):
        most, median, total = max(values), statistics.median(values), sum(values)
        print(f"{kind} MiB: {most:.1f} at most, median {median:.1f}, all {total:.1f}")
    most_mib = max(one.pss for one in found)
    tell(
        f"{count} lanes on {backend}, one host: memory of the largest lane (PSS)",
        f"{most_mib:.1f} MiB",
        f"at most {LANE_MIB:g} MiB",
        held=most_mib <= LANE_MIB,
    )


def command(folder: Path, backend: str, count: int) -> list[str | Path]:
    lines = [f'backend = "{backend}"']
    for number in range(1, count + 1):
        lines += [f"[targets.gen5-{number}]", f'path = "{folder}/gen5-{number}"']
        lines += ["writable = true"]
    lab, plan = folder / "lab.toml", folder / "plan.ioplan"
    lab.write_text("\n".join([*lines, "[groups]", 'all = ["*"]', ""]))
    plan.write_text(PLAN)
    size = "1GiB" if backend == "sim" else "16MiB"
    return [IOPLAN, "run", plan, "--lab", lab, "--target", "all", "--create", size]


def watched(client: subprocess.Popen[bytes], each_s: float) -> list[Used]:
    """The lanes when they took most together."""
    most: list[Used] = []
    while client.poll() is None:
        now = list(lanes(client.pid))
        most = max(most, now, key=lambda found: sum(one.pss for one in found))
        time.sleep(each_s)
    return most


def lanes(client: int) -> Iterator[Used]:
    for pid in below(client):
        if text(f"/proc/{pid}/cmdline").replace("\0", " ").startswith(LANE):
            found = [memory(one) for one in (pid, *below(pid))]
            yield Used(*(sum(column) for column in zip(*found, strict=True)))


def below(pid: int) -> Iterator[int]:
    for child in text(f"/proc/{pid}/task/{pid}/children").split():
        yield int(child)
        yield from below(int(child))


def memory(pid: int) -> Used:
    """Nothing, of one that has just ended."""
    sizes = re.findall(r"^[PR]ss: +(\d+) kB", text(f"/proc/{pid}/smaps_rollup"), re.M)
    rss, pss = map(int, sizes or (0, 0))
    return Used(pss / 1024, rss / 1024)


def text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
