"""How well two hosts begin a run together: `sudo python tests/benchmarks/start_together.py`.

Hosts are network namespaces of this machine, and the clock of the second is an hour
ahead. So what is true is known: by the machine's clock, of which the hosts know nothing.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "cluster")]

from benchmark_row import tell  # noqa: E402
from command import plan_file  # noqa: E402
from hour_ahead import HOUR_NS, hour_ahead  # noqa: E402
from netlab import NetLab, netlab  # noqa: E402
from test_netlab import up  # noqa: E402

from ioplan.results.store import Store  # noqa: E402
from targets import MIB, loop_device  # noqa: E402

RUNS, AIM_NS, US_NS = 20, 2_000_000, 1000
PLAN = """workload both {{
  reader = random 4KiB 100/0, on hosts h1, h2
}}
test "T" {{
  run  both for 300ms
  vary qd in {runs}
}}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        backing, flag = folder / "shared.img", folder / "ahead"
        flag.touch()
        with backing.open("xb") as file:
            file.truncate(32 * MIB)
        stack.enter_context(loop_device(backing))
        more = {"h2": hour_ahead(folder, flag)}
        lab = stack.enter_context(netlab(folder, "h1", "h2", more=more))
        tell_rows(facts_of(lab, folder, backing))


def facts_of(lab: NetLab, folder: Path, backing: Path) -> list[dict[str, Any]]:
    """Of each run."""
    with lab.file.open("a") as file:
        file.write(
            f'both = ["shared"]\n[targets.shared]\nhosts = ["h1", "h2"]\n'
            f'backing_file = "{backing}"\nwritable = true\ncannot_see_users = true\n'
        )
    up(lab)
    runs = ", ".join(str(number) for number in range(1, RUNS + 1))
    words = ("--lab", lab.file, "--target", "shared")
    done = lab.coordinator.ioplan(
        "run", plan_file(folder, PLAN.format(runs=runs)), *words
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(lab.coordinator.store) as store:
        records = store.records(store.session("last").id)
        return [one.backend.facts for one in records]


def tell_rows(found: list[dict[str, Any]]) -> None:
    assert len(found) == RUNS
    errors_ns, skews_ns = [], []
    for facts in found:
        one, two = (facts["hosts"][host]["start"] for host in ("h1", "h2"))
        true_ns = abs(two["actual_ns"] - HOUR_NS - one["actual_ns"])
        assert (
            abs(true_ns - facts["start_skew_ns"])
            <= (facts["start_skew_uncertainty_ns"])
        )
        skews_ns.append(true_ns)
        errors_ns.append(abs(two["clock_offset_ns"] - HOUR_NS))
    for what, values in (
        ("skew", skews_ns),
        ("error of the clock's offset", errors_ns),
    ):
        shown = f"{median(values) / US_NS:.0f} us, at most {max(values) / US_NS:.0f}"
        title = f"two hosts, clocks an hour apart, {RUNS} runs: {what}"
        tell(title, shown, "at most 2,000 us", held=max(values) <= AIM_NS)


if __name__ == "__main__":
    main()
