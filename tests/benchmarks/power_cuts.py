"""How often `verify` judges a device right after a cut of its power, by kind of cache.

    .venv/bin/python tests/benchmarks/power_cuts.py [CUTS [CUTS_OF_FIO]]

Each cut is of a new device with its own seed, in the middle of what its cache holds.
`95 % bound` is what so many cuts prove of a row without a loss. The last column is how
often fio, with the same writes, sizes and flushes, calls the data bad after a cut.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from ioplan.witness.device import Device, running
from ioplan.witness.script import Script

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from command import ioplan, plan_file

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
    Row("capacitor", {"mode": "capacitor"}, FLUSH),
    Row("capacitor", {"mode": "capacitor"}, NEITHER),
    Row("honest", HONEST, FLUSH),
    Row("honest", HONEST, FUA),
    Row("honest", HONEST, NEITHER),
    Row("torn at 4 KiB", HONEST | {"torn": "4KiB"}, FLUSH),
    Row("torn at 16 KiB", HONEST | {"torn": "16KiB"}, FLUSH),
    Row("torn at 256 B", HONEST | {"torn": "256B"}, NEITHER, "torn"),
    Row("reordered", HONEST | {"reordered": True}, FLUSH),
    Row("FUA ignored", HONEST | {"fua_ignored": True}, FLUSH),
    Row("FUA ignored", HONEST | {"fua_ignored": True}, FUA, "lost_fua"),
    Row("flush delayed", HONEST | {"flush_delay": "1min"}, FLUSH, "lost_flushed"),
    Row("lying", {"mode": "lying"}, FLUSH, "lost_flushed"),
)
PROMISES_OF_FIO = {FLUSH: ["--fsync=16"], FUA: ["--sync=dsync"], NEITHER: []}
CHECK_OF_FIO = [
    "--verify=crc32c",
    "--ioengine=libaio",
    "--direct=1",
    "--output=/dev/null",
]
LOAD_OF_FIO = ["--name=w", "--rw=randwrite", "--bs=16k", "--iodepth=8", "--size=2m"]


@contextmanager
def made(row: Row, seed: int) -> Iterator[Device]:
    """A new device, in a folder of its own that is the state's too."""
    values = {"size": "4MiB", "seed": seed, "cache": row.cache}
    with TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        with running(Script.model_validate(values), Path(name) / "device") as device:
            yield device


def judged(row: Row, seed: int) -> dict[str, int]:
    """The fact `verify` of a pass of reads after a cut."""
    with made(row, seed) as device:
        for number, text in enumerate((_writes(row, seed), READS)):
            if number:
                assert ioplan("device", "cut", device.folder).code == 0
            plan = plan_file(device.folder.parent, text, f"{number}.ioplan")
            store = device.folder.parent / "store"
            words = ("--overwrite", device.disk, "--store", store)
            done = ioplan("run", plan, "--json", "--target", device.disk, *words)
        (line,) = done.of("record")
    found: dict[str, int] = line["record"]["backend"]["facts"]["verify"]
    return found


def accused_by_fio(row: Row, seed: int) -> bool:
    """Whether its own check after a cut fails."""
    with made(row, seed) as device:
        load = [*LOAD_OF_FIO, *CHECK_OF_FIO, f"--filename={device.disk}"]
        load += [f"--io_size={1024 + seed % 64 * 16}k", *PROMISES_OF_FIO[row.promise]]
        assert _fio(device, *load, "--do_verify=0") == 0
        device.tell("cut")
        return _fio(device, *load, "--verify_only=1") != 0


def _fio(device: Device, *words: str) -> int:
    place = device.folder.parent
    done = subprocess.run(
        ["fio", *words], cwd=place, stderr=subprocess.DEVNULL, check=False
    )
    return done.returncode


def _writes(row: Row, seed: int) -> str:
    return PLAN.format(run=f"{WRITES}, {row.promise} for {1024 + seed % 97 * 16}KiB")


def main(cuts: int = 1000, cuts_of_fio: int = 100) -> int:
    """The table; 1 if a device was accused wrongly, or a defect was not found."""
    print("| cache | asked | accused wrongly | cuts until found | 95 % bound | fio |")
    print("|---|---|---|---|---|---|")
    wrong = 0
    for row in ROWS:
        classes = [_classes(judged(row, 7 + seed)) for seed in range(cuts)]
        accused = sum(bool(one - {row.broken}) for one in classes)
        hits = [n + 1 for n, one in enumerate(classes) if row.broken in one]
        first = str(hits[0]) if hits else "not found" if row.broken else "-"
        bound = "-" if row.broken else f"{100 * (1 - 0.05 ** (1 / cuts)):.2g} %"
        by_fio = sum(accused_by_fio(row, seed) for seed in range(cuts_of_fio))
        cells = (row.name, row.promise, f"{accused} of {cuts}", first, bound)
        print(f"| {' | '.join(cells)} | {by_fio} of {cuts_of_fio} |", flush=True)
        wrong += accused + (bool(row.broken) and not hits)
    return min(1, wrong)


def _classes(found: dict[str, int]) -> set[str]:
    return {name for name in BROKEN if found.get(name)}


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
