"""Time and memory to check and plan a matrix of 100,000 runs.

    .venv/bin/python tests/benchmarks/plan_100k.py

In a fresh process: every step is made, with its run id and its cost. The limits
are 2 s and 300 MB, imports included.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time

from benchmark_row import tell

RUNS, LIMIT_S, LIMIT_MB, ROUNDS = 100_000, 2.0, 300.0, 5
PLAN = """
test "Matrix" {
  run random 4KiB for 1s
  vary size in 4KiB..40KiB step 4KiB
  vary read in 0%..99% step 1%
  vary qd in 1..100 step 1
}
"""


def measure() -> dict[str, float]:
    """One check and one plan, in this process."""
    start = time.perf_counter()
    from ioplan.language.check.check import check
    from ioplan.language.syntax.source import Source
    from ioplan.planner.estimate import Estimator
    from ioplan.planner.steps import Run
    from ioplan.planner.unfold import unfold

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
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
