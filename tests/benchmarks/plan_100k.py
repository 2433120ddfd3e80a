"""Time and memory to check and plan a matrix of 100,000 runs.

    .venv/bin/python tests/benchmarks/plan_100k.py

In a fresh process: every step is made, with its run id and its cost. The limits
are 2 s and 300 MB, imports included. `ioplan plan --json`, which prints each of them,
takes turns with `ioplan plan`, which prints 40, and this with ten million additions in
Python: with a capacity it looks at each run for whether it fits, of all four axes.
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
from collections.abc import Sequence
from pathlib import Path

from benchmark_row import tell

RUNS, LIMIT_S, LIMIT_MB, ROUNDS, LIMIT_TIMES = 100_000, 2.0, 300.0, 5, 1.5
FOUR_RUNS, LIMIT_ADDITIONS = 96_960, 3.0
PLAN = """
test "Matrix" {
  run random 4KiB for 1s
  vary size in 4KiB..40KiB step 4KiB
  vary read in 0%..99% step 1%
  vary qd in 1..100 step 1
}
"""
FOUR_AXES = """
test "Matrix" {
  run random 4KiB, qd 1 each for 1s
  vary read in 0%..100% step 1%
  vary qd in 1..512 doubling
  vary size in 512B..1MiB doubling
  vary threads in 1..8 step 1
}
"""
Use = tuple[float, float]
ADDITIONS = "total = 0\nfor number in range(10_000_000): total += number"


def measure() -> dict[str, float]:
    """One check and one plan, in this process."""
    start = time.perf_counter()
    from ioplan.language import Source, check
    from ioplan.planner import Estimator, Run, unfold

    imported = time.perf_counter()
    plan = check(Source("matrix", PLAN))
    checked = time.perf_counter()
    estimator, runs, total_s = Estimator(10**12), 0, 0.0
    for step in unfold(plan):
        assert isinstance(step, Run) and step.run_id
        total_s += estimator.cost(step).run_s
        runs += 1
    planned = time.perf_counter()
    assert runs == RUNS and total_s == RUNS
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "import_s": imported - start,
        "check_s": checked - imported,
        "plan_s": planned - checked,
        "total_s": planned - start,
        "peak_mb": peak_kb / 1024,
    }


def main() -> int:
    """Print medians of several processes; 1 if a limit is exceeded."""
    if "--once" in sys.argv:
        print(json.dumps(measure()))
        return 0
    command = [sys.executable, __file__, "--once"]
    found = [
        json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        for _ in range(ROUNDS)
    ]
    medians = {key: statistics.median(one[key] for one in found) for key in found[0]}
    for key, value in medians.items():
        print(f"{key:<10} {value:8.2f}")
    held = medians["total_s"] <= LIMIT_S and medians["peak_mb"] <= LIMIT_MB
    tell(
        f"check and plan of {RUNS:,} runs, in a fresh process",
        f"{medians['total_s']:.2f} s, {medians['peak_mb']:.0f} MB",
        f"at most {LIMIT_S:g} s, {LIMIT_MB:g} MB",
        held=held,
    )
    return 0 if all([printed(), beside_additions(), held]) else 1


def in_turn(text: str, words: list[str], other: list[str]) -> list[tuple[Use, Use]]:
    """The use of `ioplan plan` with words, and of another command, by turns."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "matrix.ioplan"
        plan.write_text(text)
        command = [Path(sys.executable).parent / "ioplan", "plan", plan]
        command += ["--capacity", "1TB"]
        second = [*other] if other else [*command]
        return [(used([*command, *words]), used(second)) for _ in range(ROUNDS)]


def beside_additions() -> bool:
    """What `ioplan plan` takes, of the CPU time of ten million additions."""
    pairs = in_turn(FOUR_AXES, [], [sys.executable, "-c", ADDITIONS])
    times = statistics.median(plan[0] / added[0] for plan, added in pairs)
    peak_mb = max(plan[1] for plan, _ in pairs)
    held = times <= LIMIT_ADDITIONS and peak_mb <= LIMIT_MB
    tell(
        f"`ioplan plan` of {FOUR_RUNS:,} runs over four axes, CPU time beside ten "
        "million additions in Python",
        f"{times:.1f} times, {peak_mb:.0f} MB",
        f"at most {LIMIT_ADDITIONS:g} times, {LIMIT_MB:g} MB",
        held=held,
    )
    return held


def printed() -> bool:
    """What `ioplan plan` takes with `--json`, of the CPU time without."""
    pairs = in_turn(PLAN, ["--json"], [])
    times = statistics.median(json[0] / table[0] for json, table in pairs)
    peak_mb = max(json[1] for json, _ in pairs)
    held = times <= LIMIT_TIMES and peak_mb <= LIMIT_MB
    tell(
        f"`ioplan plan --json` of {RUNS:,} runs, CPU time beside `ioplan plan`",
        f"{times:.2f} times, {peak_mb:.0f} MB",
        f"at most {LIMIT_TIMES:g} times, {LIMIT_MB:g} MB",
        held=held,
    )
    return held


def used(command: Sequence[str | Path]) -> Use:
    """CPU time in s and peak memory in MB of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{command}: {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
