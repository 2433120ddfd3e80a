"""Time and memory to check and plan a matrix of 100,000 runs.

    .venv/bin/python tests/benchmarks/plan_100k.py

In a fresh process: every step is made, with its run id and its cost. The limits
are 2 s and 300 MB, imports included.
"""

import statistics
import sys
import time
from functools import partial

from benchmark_row import tell
from used import in_turn, used

RUNS, LIMIT_S, LIMIT_MB, ROUNDS = 100_000, 2.0, 300.0, 5
PLAN = """
test "Matrix" {
  run random 4KiB for 1s
  vary size in 4KiB..40KiB step 4KiB
  vary read in 0%..99% step 1%
  vary qd in 1..100 step 1
}
"""


def planned_s() -> float:
    """One check and one plan, in this process."""
    start_s = time.perf_counter()
    from ioplan.language import Source, check
    from ioplan.planner import Estimator, Run, unfold

    estimator, runs, total_s = Estimator(10**12), 0, 0.0
    for step in unfold(check(Source("matrix", PLAN))):
        assert isinstance(step, Run) and step.run_id
        total_s += estimator.cost(step).run_s
        runs += 1
    assert runs == RUNS and total_s == RUNS
    return time.perf_counter() - start_s


def main() -> int:
    """Print the medians of several processes; 1 if a limit is exceeded."""
    if "--once" in sys.argv:
        print(planned_s())
        return 0
    calls = in_turn(ROUNDS, partial(used, sys.executable, __file__, "--once"))
    took_s = statistics.median(float(one.out) for (one,) in calls)
    peak_mb = statistics.median(one.peak_mb for (one,) in calls)
    held = took_s <= LIMIT_S and peak_mb <= LIMIT_MB
    tell(
        "check and plan of 100,000 runs, in a fresh process",
        f"{took_s:.2f} s, {peak_mb:.0f} MB",
        f"at most {LIMIT_S:g} s, {LIMIT_MB:g} MB",
        held=held,
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
