"""Whether the profile `short` of each PTS suite meets its rule on each simulated drive.

    python tests/benchmarks/short_profiles.py [SUITE...]

Prints for each pair how many tests settled, of how many, how many on a steady drive, and the CPU time. The
quicker ones are tests (tests/suites/test_short_profiles.py).
"""

from __future__ import annotations

import resource
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.results.store import Store

DRIVES = ("crosspoint", "client", "datacentre")
SUITES = (
    "pts_iops",
    "pts_throughput",
    "pts_latency",
    "pts_write_saturation",
    "pts_host_idle_recovery",
    "pts_enterprise_composite",
    "pts_demand_intensity",
)
EXAMPLES = Path(__file__).parents[2] / "examples/sim"


def main() -> None:
    pairs = product(sys.argv[1:] or SUITES, DRIVES)
    raise SystemExit(not all([has_settled(*one) for one in pairs]))


def has_settled(suite: str, drive: str) -> bool:
    """Run it, say what came, and whether all of its tests settled."""
    before_s = cpu_s()
    with TemporaryDirectory() as folder:
        store = Path(folder) / "results.db"
        call = [
            str(Path(sys.executable).with_name("ioplan")),
            "run",
            f"pts/{suite}",
            "--profile",
            "short",
            "-q",
        ]
        call += ["--sim", str(EXAMPLES / f"{drive}.toml"), "--store", str(store)]
        code = subprocess.run(call, check=False).returncode
        with Store.open(store) as found:
            records = list(found.records(found.session("last").id))
    last = {
        (one.asked.test, one.asked.kind): one.steady for one in records if one.steady
    }
    settled = sum(one.meets_rule for one in last.values())
    steady = sum(one.reached for one in last.values())
    used_s = cpu_s() - before_s
    print(
        f"{suite:26} {drive:11} {settled} of {len(last)} settled, {steady} steady, "
        f"{used_s:5.1f} s of CPU",
        flush=True,
    )
    return code in (0, 1) and 0 < settled == len(last)


def cpu_s() -> float:
    """What all children used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
