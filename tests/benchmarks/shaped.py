"""A shaped write beside today's preconditioning, on simulated drives.

    python tests/benchmarks/shaped.py [--passes 8]

On a drive of each spare, the same run of random 4 KiB writes is measured after a shaped
pass, after a shaped pass and until steady, after a fill and random writes until steady,
and after a fill and many random passes, which is the truth.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmark_row import tell

from ioplan.language import Metric
from ioplan.results.measure import Sample, figure
from ioplan.results.store import Store

SPARES = (7, 15, 28)
UNITS_KIB = (4, 16)
"""Of the drive's map; a shaped write has that size."""
CAPACITY_BYTES = 64 << 30
LIMIT_PERCENT = 3.0
RANDOM = "write random 4KiB, qd 32"
STEADY = f"{RANDOM}, until steady iops every 20s"
BY_WAF = f"{RANDOM}, until steady waf every 1%"
FILL = "write sequential 128KiB, qd 32, 1 pass"
METRICS = ("iops", "p99", "waf")


class Measured(NamedTuple):
    """What a precondition costs, and what is measured after it, by metric."""

    hours: float
    flash_writes: float
    values: tuple[float, ...]

    def off(self, truth: Measured) -> list[float]:
        """In percent, by metric."""
        pairs = zip(self.values, truth.values, strict=True)
        return [100 * (value / true - 1) for value, true in pairs]


def ways(spare: int, passes: int, unit_kib: int) -> dict[str, str]:
    """Preconditions by name; the last is the truth."""
    shaped = f"write random {unit_kib}KiB shaped, spare {spare}%, qd 32"
    never = "range 0.0001%, slope 0.0001%"
    return {
        "shaped": shaped,
        "shaped, until steady waf": f"{shaped} {BY_WAF}, at most 1 pass",
        "shaped, until steady iops": f"{shaped} {STEADY}, at most 1 pass",
        "today's": f"{FILL} {STEADY}, at least 1 pass, at most 4 passes",
        "truth": f"{FILL} {STEADY}, {never}, at most {passes} passes",
    }


def measured(steps: str, spare: int, unit_kib: int) -> Measured:
    """Of one precondition on a drive of a spare."""
    text = f'plan "P"\non unsteady continue\nprecondition p {{ purge {steps} }}\n'
    text += 'test "T" { after p run random 4KiB 0/100, qd 32 for 1min }\n'
    with TemporaryDirectory() as folder:
        plan, drive = Path(folder) / "plan.ioplan", Path(folder) / "drive.toml"
        store = Path(folder) / "results.db"
        plan.write_text(text)
        flash = f'[flash]\nmap = "{unit_kib}KiB"\n'
        drive.write_text(f'over_provisioning = "{spare}%"\n{flash}')
        call = [sys.executable, "-m", "ioplan.cli", "run", plan, "--sim", drive]
        call += ["--create", "64GiB", "--store", store, "-q"]
        subprocess.run(list(map(str, call)), check=True)
        with Store.open(store) as found:
            session = found.session("last").id
            *before, run = found.records(session)
            sample = Sample(run, found.detail(session, run.seq))
    values = (figure(Metric(name=name), [sample]).value for name in METRICS)
    return Measured(
        sum(one.run_s for one in before) / 3600,
        float(run.backend.facts["before_flash_written_bytes"]) / CAPACITY_BYTES,
        tuple(value or 0.0 for value in values),
    )


def main() -> None:
    """Print a row a spare and precondition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=8)
    passes = parser.parse_args().passes
    for spare, unit_kib in product(SPARES, UNITS_KIB):
        report(spare, passes, unit_kib)


def report(spare: int, passes: int, unit_kib: int) -> None:
    """How far each way is from the truth, and what it costs."""
    every = {
        name: measured(steps, spare, unit_kib)
        for name, steps in ways(spare, passes, unit_kib).items()
    }
    truth = every["truth"]
    for name, found in every.items():
        off = found.off(truth)
        told = ", ".join(
            f"{metric} {percent:+.1f} %"
            for metric, percent in zip(METRICS, off, strict=True)
        )
        tell(
            f"spare {spare} %, {unit_kib} KiB, {name}",
            f"{found.flash_writes:.1f} drive writes of flash, {found.hours:.2f} h: {told}",
            f"until steady, within {LIMIT_PERCENT:g} %",
            held="steady" not in name or max(map(abs, off)) <= LIMIT_PERCENT,
        )


if __name__ == "__main__":
    sys.exit(main())
