"""What 300 drives on one host cost: `python tests/benchmarks/lanes_300.py [BACKEND] [N]`.

A group of N targets, 300 unless told, on the simulated drive or on another backend
(scratch files of 16 MiB). Every two seconds each process below the command is read:
PSS, with its part of what it shares (/proc/PID/smaps_rollup), RSS, and CPU time. A lane
is counted with the programs that it has started.
Printed are the lanes at the moment at which they took most together, and the process
tree as `ps` shows it.
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

LANES = 300
LANE, LANE_MIB = "ioplan lane ", 20.0
PLAN = 'test "T" {\n  run random 4KiB 70/30 for 20s\n  vary qd in 1, 4, 16\n}\n'
ALL_S, SOME_S = 2.0, 0.2
SHOWN = 4
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Used(NamedTuple):
    """What a process takes; a lane with all below it."""

    title: str
    pss_kib: int = 0
    rss_kib: int = 0
    cpu_s: float = 0.0


def main() -> None:
    """Run the group, watch it, print."""
    backend = sys.argv[1] if sys.argv[1:] else "sim"
    lanes = int(sys.argv[2]) if sys.argv[2:] else LANES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began_s = time.monotonic()
        with subprocess.Popen(
            _command(folder, backend, lanes),
            env=os.environ | {"IOPLAN_STORE": str(folder / "store.db")},
            stdout=subprocess.DEVNULL,
        ) as client:
            found, tree = _watched(client, lanes)
        print(f"{lanes} lanes on {backend}: exit code {client.returncode}", end="")
        print(f", {time.monotonic() - began_s:.1f} s")
    _report(found)
    print(tree)
    most_mib = max(one.pss_kib for one in _lanes(found)) / 1024
    tell(
        f"{lanes} lanes on {backend}, one host: memory of the largest lane (PSS)",
        f"{most_mib:.1f} MiB",
        f"at most {LANE_MIB:g} MiB",
        held=most_mib <= LANE_MIB,
    )


def _lanes(found: list[Used]) -> list[Used]:
    return [one for one in found if one.title.startswith(LANE)]


def _command(folder: Path, backend: str, lanes: int) -> list[str]:
    lines = [f'backend = "{backend}"']
    for number in range(1, lanes + 1):
        lines += [f"[targets.gen5-{number}]", f'path = "{folder}/gen5-{number}"']
        lines += ["writable = true"]
    lab, plan = folder / "lab.toml", folder / "plan.ioplan"
    lab.write_text("\n".join([*lines, "[groups]", 'all = ["*"]', ""]))
    plan.write_text(PLAN)
    words = ["run", str(plan), "--lab", str(lab), "--target", "all"]
    program = str(Path(sys.executable).with_name("ioplan"))
    return [program, *words, "--create", "1GiB" if backend == "sim" else "16MiB"]


def _watched(client: subprocess.Popen[bytes], lanes: int) -> tuple[list[Used], str]:
    """The processes when they took most together, and a part of their tree."""
    most: list[Used] = []
    tree = ""
    while client.poll() is None:
        pids = list(_below(client.pid))
        now = list(_processes(client.pid))
        if _pss_kib(now) > _pss_kib(most):
            most = now
        if len(pids) > SHOWN + 1 and not tree:
            tree = _tree([client.pid, *pids[: SHOWN + 1]], len(pids) - SHOWN - 1)
        time.sleep(ALL_S if lanes > 10 * SHOWN else SOME_S)
    return most, tree


def _pss_kib(found: list[Used]) -> int:
    return sum(one.pss_kib for one in found)


def _below(pid: int) -> Iterator[int]:
    for child in _text(f"/proc/{pid}/task/{pid}/children").split():
        yield int(child)
        yield from _below(int(child))


def _processes(pid: int) -> Iterator[Used]:
    for child in _text(f"/proc/{pid}/task/{pid}/children").split():
        found = _used(int(child))
        if found and found.title.startswith(LANE):
            own = [found, *filter(None, map(_used, _below(int(child))))]
            yield Used(found.title, *(sum(column) for column in _columns(own)))
        elif found:
            yield found
            yield from _processes(int(child))


def _used(pid: int) -> Used | None:
    """None of one that has just ended."""
    title = _text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    sizes = dict(re.findall(r"(\w+): +(\d+) kB", _text(f"/proc/{pid}/smaps_rollup")))
    words = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not (sizes and words):
        return None
    cpu_s = (int(words[11]) + int(words[12])) / TICKS_PER_S
    return Used(title, int(sizes["Pss"]), int(sizes["Rss"]), cpu_s)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _tree(pids: list[int], more: int) -> str:
    chosen = ",".join(map(str, pids))
    shown = subprocess.run(
        ["ps", "--forest", "-o", "pid,args", "-p", chosen],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line[:79] for line in shown.stdout.splitlines()]
    return "\n".join([*lines, f"... and {more} more"])


def _report(found: list[Used]) -> None:
    lanes = _lanes(found)
    print(f"{f'{len(lanes)} at a time':<22}{'PSS MiB':>9}{'RSS MiB':>9}{'CPU s':>9}")
    rows = {"a lane, the most": max, "a lane, the median": statistics.median}
    for name, of in rows.items():
        print(_row(name, *(of(column) for column in _columns(lanes))))
    print(_row("all lanes", *(sum(column) for column in _columns(lanes))))
    for one in found:
        if one.title.startswith("ioplan lanes"):
            print(_row("their parent", one.pss_kib, one.rss_kib, one.cpu_s))


def _columns(found: list[Used]) -> list[list[float]]:
    return [[one[at] for one in found] for at in (1, 2, 3)]


def _row(name: str, pss_kib: float, rss_kib: float, cpu_s: float) -> str:
    return f"{name:<22}{pss_kib / 1024:9.1f}{rss_kib / 1024:9.1f}{cpu_s:9.2f}"


if __name__ == "__main__":
    main()
