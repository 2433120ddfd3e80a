"""Where the time goes before a session's first I/O, and between two of its runs.

    .venv/bin/python tests/benchmarks/between_runs.py [BACKEND] [ROUNDS]

A session of six short runs on a scratch file, with a bare Python in turn. What it does
is stamped from outside, see `stamped_session.py`.
The time between two runs is what passes between their starts beyond a run's length. With
fio as the backend, fio itself is called in turn on the job file of such a run: what it
takes to begin and to end is no loss of ioplan's.
Medians over all rounds; CPU time is that of the process and its children.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmark_row import tell

ROUNDS, RUN_S = 7, 0.5
MAX_STARTS, MAX_BETWEEN_MS = 3.0, 20.0
PLAN = f'test "T" {{ run random 4KiB 100/0 for {RUN_S * 1000:.0f}ms vary qd in 1..6 step 1 }}'
BEFORE = {
    "Python, the table of commands": "run begins",
    "importing what a run needs": "run_command begins",
    "parsing and checking the plan": "checked_plan ends",
    "the backend: is it usable": "chosen_backend ends",
    "the guard, opening the target": "open_drive ends",
    "session: host, plan, store": "Watchdog.__init__ begins",
    "starting the program": "Watchdog.__init__ ends",
    "its first I/O": "Started",
}
"""What comes before the first I/O, and the stamp that ends it."""
BETWEEN = {
    "the program's last I/O to its result": "Result",
    "its exit": "Watchdog.__exit__ ends",
    "telemetry, verdict": "execute ends",
    "record": "Recorder.record ends",
    "store, with fsync": "Store.add ends",
    "the next job": "Watchdog.__init__ begins",
    "starting the program again": "Watchdog.__init__ ends",
    "to its first I/O": "Started",
}


class Stamp(NamedTuple):
    """When something began or ended: on the monotonic clock, and in CPU time."""

    what: str
    at_ns: int
    cpu_s: float


class Session(NamedTuple):
    """What a session took, in ms: by part, before the first I/O and between runs."""

    before_ms: dict[str, float]
    between_ms: dict[str, list[float]]
    cpu_ms: float


def session(folder: Path, backend: str) -> Session:
    """One session."""
    plan, stamps = folder / "plan.ioplan", folder / "stamps.json"
    plan.write_text(PLAN)
    target = ["--target", str(folder / "target"), "--create", "64MiB"]
    words = ["run", str(plan), *target, "--store", str(folder / "s.db")]
    stamped = str(Path(__file__).with_name("stamped_session.py"))
    command = [sys.executable, stamped, str(stamps), *words]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began_ns = time.monotonic_ns()
    subprocess.run(
        [*command, "--backend", backend],
        env=env,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    found = [Stamp(*one) for one in json.loads(stamps.read_text())]
    first = next(one for one in found if one.what == "Started")
    before = parts(found, began_ns, BEFORE)
    starts = [at for at, one in enumerate(found) if one.what == "Started"]
    gaps = [
        parts(found[at + 1 :], found[at].at_ns + int(RUN_S * 1e9), BETWEEN)
        for at in starts[:-1]
    ]
    between = {name: [gap[name] for gap in gaps] for name in BETWEEN}
    return Session(before, between, first.cpu_s * 1000)


def parts(found: list[Stamp], since_ns: int, ends: dict[str, str]) -> dict[str, float]:
    """How long each part took: from the end of the one before to its own."""
    result = {}
    for name, what in ends.items():
        at_ns = next(one.at_ns for one in found if one.what == what)
        result[name] = (at_ns - since_ns) / 1e6
        since_ns = at_ns
    return result


class Alone:
    """fio by itself, on the job that ioplan gives it."""

    def __init__(self, folder: Path) -> None:
        ioplan = [
            sys.executable,
            "-m",
            "ioplan.cli",
            "plan",
            str(folder / "plan.ioplan"),
        ]
        target = ["--backend", "fio", "--target", str(folder / "target")]
        told = subprocess.run(
            [*ioplan, *target, "--show-native"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        _, _, first = told.stdout.partition("# fio ")
        words, _, rest = first.partition(" FILE\n")
        self.command = ["fio", *words.split(), "-"]
        self.job = rest.partition("\n# ")[0]

    def ms(self) -> float:
        """What it takes beyond the length of a run."""
        began_s = time.monotonic()
        subprocess.run(
            self.command,
            input=self.job.encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
        return (time.monotonic() - began_s - RUN_S) * 1000


def bare_ms() -> tuple[float, float]:
    """What a bare Python takes: CPU time, real time."""
    before_s, began_s = _children_s(), time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    real_s = time.monotonic() - began_s
    return (_children_s() - before_s) * 1000, real_s * 1000


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Measure in turn, print tables and rows."""
    backend = sys.argv[1] if sys.argv[1:] else "io_uring"
    rounds = int(sys.argv[2]) if sys.argv[2:] else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        session(Path(name), backend)  # makes the target, and compiles
        alone = Alone(Path(name)) if backend == "fio" else None
        each = [
            (session(Path(name), backend), bare_ms(), alone.ms() if alone else 0.0)
            for _ in range(rounds)
        ]
    sessions = [one for one, _, _ in each]
    print_table("before the first I/O", [one.before_ms for one in sessions])
    gaps = [
        {part: times[at] for part, times in one.between_ms.items()}
        for one in sessions
        for at in range(len(next(iter(one.between_ms.values()))))
    ]
    per = len(gaps) // len(sessions)
    later = [gap for at, gap in enumerate(gaps) if at % per]
    print_table("between two runs", later)
    first = statistics.median(sum(gap.values()) for gap in gaps[::per])
    print(f"between the first two runs {first:.1f} ms")
    cpu = statistics.median(one.cpu_ms / bare[0] for one, bare, _ in each)
    real = statistics.median(sum(s.before_ms.values()) / bare[1] for s, bare, _ in each)
    lost = statistics.median(sum(gap.values()) for gap in later)
    figure = f"{cpu:.1f} starts of Python (real time: {real:.1f})"
    held = cpu <= MAX_STARTS
    tell(
        f"first I/O on {backend}, CPU time",
        figure,
        f"at most {MAX_STARTS:g}",
        held=held,
    )
    what, figure = f"between two runs on {backend}, durably", f"{lost:.1f} ms"
    if alone:
        own = statistics.median(own_ms for _, _, own_ms in each)
        figure = (
            f"{lost - own:.1f} ms ({lost:.0f} ms, and fio alone takes {own:.0f} ms)"
        )
        what, lost = f"{what}, beyond what fio itself needs", lost - own
    aim = f"at most {MAX_BETWEEN_MS:g} ms"
    held_too = lost <= MAX_BETWEEN_MS
    tell(what, figure, aim, held=held_too)
    return int(not (held and held_too))


def print_table(title: str, found: list[dict[str, float]]) -> None:
    """Medians of all parts, and of their sums."""
    print(f"{title}, ms")
    for name in found[0]:
        print(f"  {name:<40}{statistics.median(one[name] for one in found):8.1f}")
    total = statistics.median(sum(one.values()) for one in found)
    print(f"  {'all of it':<40}{total:8.1f}")


if __name__ == "__main__":
    sys.exit(main())
