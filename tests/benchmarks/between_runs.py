"""Where the time goes before a session's first I/O, and between two of its runs.

    .venv/bin/python tests/benchmarks/between_runs.py [BACKEND] [ROUNDS]

A session of six short runs on a scratch file, with a bare Python in turn. What it does
is stamped from outside, see `stamped_session.py`.
The time between two runs is what passes between their starts beyond a run's length.
Medians over all rounds; CPU time is that of the process and its children.
"""

import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmark_row import tell
from used import in_turn, used

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
    between_ms: list[dict[str, float]]
    cpu_s: float


def session(folder: Path, backend: str) -> Session:
    """One session."""
    plan, stamps = folder / "plan.ioplan", folder / "stamps.json"
    plan.write_text(PLAN)
    target = ("--target", folder / "target", "--create", "64MiB")
    words = ("run", plan, *target, "--store", folder / "s.db", "--backend", backend)
    stamped = Path(__file__).with_name("stamped_session.py")
    began_ns = time.monotonic_ns()
    used(sys.executable, stamped, stamps, *words)
    found = [Stamp(*one) for one in json.loads(stamps.read_text())]
    starts = [at for at, one in enumerate(found) if one.what == "Started"]
    gaps = [
        parts(found[at + 1 :], found[at].at_ns + int(RUN_S * 1e9), BETWEEN)
        for at in starts[:-1]
    ]
    return Session(parts(found, began_ns, BEFORE), gaps, found[starts[0]].cpu_s)


def parts(found: list[Stamp], since_ns: int, ends: dict[str, str]) -> dict[str, float]:
    """How long each part took: from the end of the one before to its own."""
    result = {}
    for name, what in ends.items():
        at_ns = next(one.at_ns for one in found if one.what == what)
        result[name] = (at_ns - since_ns) / 1e6
        since_ns = at_ns
    return result


def main() -> int:
    """Measure in turn, print tables and rows."""
    backend = sys.argv[1] if sys.argv[1:] else "io_uring"
    rounds = int(sys.argv[2]) if sys.argv[2:] else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        one = partial(session, Path(name), backend)
        one()  # makes the target, and compiles
        each = in_turn(rounds, one, partial(used, sys.executable, "-c", "pass"))
    print_table("before the first I/O", [own.before_ms for own, _ in each])
    later = [gap for own, _ in each for gap in own.between_ms[1:]]
    print_table("between two runs, but for the first", later)
    cpu = statistics.median(own.cpu_s / bare.cpu_s for own, bare in each)
    real = statistics.median(
        sum(own.before_ms.values()) / bare.real_s / 1000 for own, bare in each
    )
    lost_ms = statistics.median(sum(gap.values()) for gap in later)
    tell(
        f"first I/O on {backend}, CPU time",
        f"{cpu:.1f} starts of Python (real time: {real:.1f})",
        f"at most {MAX_STARTS:g}",
        held=cpu <= MAX_STARTS,
    )
    tell(
        f"between two runs on {backend}, durably",
        f"{lost_ms:.1f} ms",
        f"at most {MAX_BETWEEN_MS:g} ms",
        held=lost_ms <= MAX_BETWEEN_MS,
    )
    return int(cpu > MAX_STARTS or lost_ms > MAX_BETWEEN_MS)


def print_table(title: str, found: list[dict[str, float]]) -> None:
    """Medians of all parts, and of their sums."""
    print(f"{title}, ms")
    for name in found[0]:
        print(f"  {name:<40}{statistics.median(one[name] for one in found):8.1f}")
    total = statistics.median(sum(one.values()) for one in found)
    print(f"  {'all of it':<40}{total:8.1f}")


if __name__ == "__main__":
    sys.exit(main())
