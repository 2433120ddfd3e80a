"""How often `verify` judges a device right after a cut of its power, by kind of cache.

    .venv/bin/python tests/benchmarks/power_cuts.py [CUTS]

Each cut is of a new device with its own seed, in the middle of what its cache holds.
The last column is what so many cuts prove of a row without a loss.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from tests.support.command import ioplan, plan_file

from ioplan.witness.device import running
from ioplan.witness.script import Script

WRITES = "random 16KiB 0/100, qd 8, region 0%..50%, verify"
PLAN = 'plan "P"\ntest "T" {{ run {run} }}\n'
READS = PLAN.format(run="sequential 64KiB 100/0, verify, 1 pass")
BROKEN = (
    *("lost_flushed", "lost_fua", "older_than_durable", "torn", "foreign"),
    *("misdirected", "stale", "no_stamp", "checksum"),
)
FLUSH, FUA, NEITHER = "flush every 16", "fua", "data random"


class Row(Struct, frozen=True):
    """A cache, what is asked of it, and the class that its cuts show, if any."""

    name: str
    cache: dict[str, Any]
    promise: str
    broken: str = ""


HONEST = {"mode": "volatile"}
ROWS = (
    Row("no cache", {}, FLUSH),
    Row("honest", HONEST, FLUSH),
    Row("honest", HONEST, FUA),
    Row("honest", HONEST, NEITHER),
    Row("torn at 4 KiB", HONEST | {"torn": "4KiB"}, FLUSH),
    Row("torn at 16 KiB", HONEST | {"torn": "16KiB"}, FLUSH),
    Row("torn at 256 B", HONEST | {"torn": "256B"}, NEITHER, "torn"),
    Row("reordered", HONEST | {"reordered": True}, FLUSH),
    Row("FUA ignored", HONEST | {"fua_ignored": True}, FLUSH),
    Row("FUA ignored", HONEST | {"fua_ignored": True}, FUA, "lost_fua"),
    Row("lying", {"mode": "lying"}, FLUSH, "lost_flushed"),
)


def judged(row: Row, seed: int) -> dict[str, int]:
    """The fact `verify` of a pass of reads after a cut."""
    values = {"size": "4MiB", "seed": seed, "cache": row.cache}
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        with running(Script.model_validate(values), folder / "device") as device:
            for number, text in enumerate((_writes(row, seed), READS)):
                if number:
                    assert ioplan("device", "cut", device.folder).code == 0
                plan = plan_file(folder, text, f"{number}.ioplan")
                words = ("--overwrite", device.disk, "--store", folder / "store")
                done = ioplan("run", plan, "--json", "--target", device.disk, *words)
            (line,) = done.of("record")
        found: dict[str, int] = line["record"]["backend"]["facts"]["verify"]
        return found


def _writes(row: Row, seed: int) -> str:
    return PLAN.format(run=f"{WRITES}, {row.promise} for {1024 + seed % 97 * 16}KiB")


def main(cuts: int) -> int:
    """The table; 1 if a device was accused wrongly, or a defect was not found."""
    print("| cache | asked | accused wrongly | cuts until found | 95 % bound |")
    print("|---|---|---|---|---|")
    wrong = 0
    for row in ROWS:
        classes = [_classes(judged(row, 7 + seed)) for seed in range(cuts)]
        accused = sum(bool(one - {row.broken}) for one in classes)
        hits = [n + 1 for n, one in enumerate(classes) if row.broken in one]
        first = str(hits[0]) if hits else "not found" if row.broken else "-"
        bound = "-" if row.broken else f"{100 * (1 - 0.05 ** (1 / cuts)):.2g} %"
        cells = (row.name, row.promise, f"{accused} of {cuts}", first, bound)
        print(f"| {' | '.join(cells)} |", flush=True)
        wrong += accused + (bool(row.broken) and not hits)
    return min(1, wrong)


def _classes(found: dict[str, int]) -> set[str]:
    return {name for name in BROKEN if found.get(name)}


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
