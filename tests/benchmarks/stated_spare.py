"""What a wrong spare does to a shaped write and the step after it, on simulated drives.

    python tests/benchmarks/stated_spare.py [--real 28]

On drives of each spare, each stated one; the run after it is compared with that after the
right one. Held: the session says that it does not fit, or that run is as it should be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmark_row import tell

from ioplan.language import Metric
from ioplan.records import RunRecord
from ioplan.results.measure import Sample, figure, steady_waf
from ioplan.results.store import Store

STATED = {7: (4, 5, 6, 8, 9, 10, 15), 15: (10, 12, 13, 17, 19, 22, 28)}
STATED[28] = (15, 18, 20, 22, 24, 32, 36, 45)
CAPACITY = "32GiB"
LIMIT_PERCENT = 3.0
METRICS = ("iops", "p99", "waf")


class Found(NamedTuple):
    """Why the step did not end steady, if so; its passes; values of the run after it."""

    why: str
    passes: float
    values: tuple[float, ...]

    def off(self, right: Found) -> list[float]:
        """In percent, by metric."""
        pairs = zip(self.values, right.values, strict=True)
        return [100 * (value / true - 1) for value, true in pairs]


def measured(real: int, stated: str, log: str = "") -> Found:
    """A drive of a spare and a log, written with a stated spare."""
    write = "write random 4KiB, qd 32, until steady waf every 1%, at most 2 passes"
    text = (
        'plan "P"\non unsteady continue\nprecondition p {\n  purge\n'
        f"  write random 4KiB shaped, spare {stated}, qd 32\n  {write}\n}}\n"
        'test "T" { after p run random 4KiB 0/100, qd 32 for 1min }\n'
    )
    with TemporaryDirectory() as folder:
        plan, drive = Path(folder) / "plan.ioplan", Path(folder) / "drive.toml"
        store = Path(folder) / "results.db"
        plan.write_text(text)
        drive.write_text(f'over_provisioning = "{real}%"\n[log]\n{log}\n')
        call = [sys.executable, "-m", "ioplan.cli", "run", plan, "--sim", drive]
        call += ["--create", CAPACITY, "--store", store, "-q"]
        subprocess.run(list(map(str, call)), check=True)
        with Store.open(store) as found:
            session = found.session("last")
            *_, step, run = found.records(session.id)
            sample = Sample(run, found.detail(session.id, run.seq))
    values = (figure(Metric(name=name), [sample]).value or 0.0 for name in METRICS)
    return Found(why(step), written_passes(step), tuple(values))


def why(step: RunRecord) -> str:
    """Of a step that did not become steady."""
    assert step.steady
    return "" if step.steady.reached else step.steady.why


def written_passes(step: RunRecord) -> float:
    """How often it has written the drive."""
    assert step.wear
    assert step.wear.capacity_bytes
    return step.wear.host_written_bytes / step.wear.capacity_bytes


def main() -> None:
    """Print a row a drive and stated spare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", type=int, choices=STATED, action="append")
    for real in parser.parse_args().real or STATED:
        right = measured(real, f"{real}%")
        for stated in STATED[real]:
            report(real, stated, right)


def report(real: int, stated: int, right: Found) -> None:
    """Whether a wrong spare is told, and what it does."""
    found = measured(real, f"{stated}%")
    off = found.off(right)
    told = ", ".join(
        f"{metric} {percent:+.1f} %"
        for metric, percent in zip(METRICS, off, strict=True)
    )
    said = "said to not fit" if "not fit" in found.why else found.why or "steady"
    by = 100 * (steady_waf(stated) / steady_waf(real) - 1)
    tell(
        f"spare {real} %, stated {stated} % (WAF of the model {by:+.0f} %)",
        f"{said} after {found.passes:.2f} passes: {told}",
        f"not steady, or within {LIMIT_PERCENT:g} %",
        held=bool(found.why) or max(map(abs, off)) <= LIMIT_PERCENT,
    )


if __name__ == "__main__":
    sys.exit(main())
