"""Hours and drive writes that the planner saves over suites A and C.

Naive is what scripts do: prepare the target before each test.

    python tests/benchmarks/planner_savings.py [--capacity 1TB]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from savings import SUITES, naive, planned
from suite_rows import PLANS, plan_of

from ioplan.cli.inputs import size


def main() -> None:
    """Print a row a suite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--capacity", default="1TB")
    capacity_bytes = size(parser.parse_args().capacity, "--capacity") or 0
    print("| suite | naive | planned | saved | drive writes saved |")
    print("|---|---|---|---|---|")
    for suite in SUITES:
        plan = plan_of(PLANS[suite])
        before, after = naive(plan, capacity_bytes), planned(plan, capacity_bytes)
        writes = (before.written_bytes - after.written_bytes) / capacity_bytes
        print(
            f"| {suite} | {before.run_s / 3600:.1f} h | {after.run_s / 3600:.1f} h "
            f"| {(before.run_s - after.run_s) / 3600:.1f} h | {writes:.1f} |"
        )


if __name__ == "__main__":
    main()
