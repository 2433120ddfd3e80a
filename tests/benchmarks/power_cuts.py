"""How often `verify` judges a device right after a cut of its power, by kind of cache.

    .venv/bin/python tests/benchmarks/power_cuts.py [CUTS [CUTS_OF_FIO [CACHE…]]]

Each cut is of a new device with its own seed, in the middle of what its cache holds.
`shows` is what a cut may find, `first` the cut that first did, and `cuts` how many did.
`bound` is what so many cuts without a loss prove with 95 % confidence. The last column is
how often fio, with the same writes, sizes and flushes, calls the data bad after a cut.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from ioplan import JobStream
from ioplan.job import Job, Result
from ioplan.runner.devices.facts import file_facts
from ioplan.runner.state.stamps import StampFile
from ioplan_io_uring import engine_path
from ioplan_io_uring.backend import EngineExecution
from ioplan_io_uring.settings import Settings, engine_job
from ioplan_witness import Device, Script
from ioplan_witness.device import running

SIZE_BYTES = 4 << 20
STREAM = {"region_start_bytes": 0, "verify": True, "read_sizes": (), "write_sizes": ()}
WRITES: dict[str, Any] = STREAM | {
    "pattern": "random",
    "qd": 8,
    "read_percent": 0,
    "write_sizes": [{"size_bytes": 16384, "percent": 100}],
    "region_end_bytes": SIZE_BYTES // 2,
}
READS: dict[str, Any] = STREAM | {
    "pattern": "sequential",
    "qd": 1,
    "read_percent": 100,
    "read_sizes": [{"size_bytes": 65536, "percent": 100}],
    "region_end_bytes": SIZE_BYTES,
}
AT_ONCE = 3
"""Devices side by side, each with its own cut."""
BROKEN = (
    *("lost_flushed", "lost_fua", "older_than_durable", "torn", "foreign"),
    *("misdirected", "stale", "no_stamp", "checksum", "reordered", "torn_writes"),
)
FLUSH, FUA, NEITHER = "flush every 16", "fua", "nothing"
PROMISES: dict[str, dict[str, Any]] = {
    FLUSH: {"sync_every": 16},
    FUA: {"fua": True},
    NEITHER: {},
}


class Row(Struct, frozen=True):
    """A cache, what is asked of it, and the classes that its cuts show, if any."""

    name: str
    cache: dict[str, Any]
    promise: str
    shows: tuple[str, ...] = ()


LOST = ("lost_flushed",)
HONEST, LYING = {"mode": "volatile"}, {"mode": "lying"}
ROWS = (
    Row("no cache", {}, FLUSH),
    Row("capacitor", {"mode": "capacitor"}, FLUSH),
    Row("capacitor", {"mode": "capacitor"}, NEITHER),
    Row("honest", HONEST, FLUSH),
    Row("honest", HONEST, FUA),
    Row("honest", HONEST, NEITHER),
    Row("torn at 4 KiB", HONEST | {"torn": "4KiB"}, FLUSH, ("torn_writes",)),
    Row("torn at 16 KiB", HONEST | {"torn": "16KiB"}, FLUSH),
    Row("torn at 256 B", HONEST | {"torn": "256B"}, NEITHER, ("torn", "torn_writes")),
    Row("reordered", HONEST | {"reordered": True}, FLUSH),
    Row("FUA ignored", HONEST | {"fua_ignored": True}, FLUSH),
    Row("FUA ignored", HONEST | {"fua_ignored": True}, FUA, ("lost_fua",)),
    Row("flush delayed", HONEST | {"flush_delay": "1min"}, FLUSH, LOST),
    Row("lying", LYING, FLUSH, LOST),
    Row("lying, reordered", LYING | {"reordered": True}, FLUSH, (*LOST, "reordered")),
)
PROMISES_OF_FIO = {FLUSH: ["--fsync=16"], FUA: ["--sync=dsync"], NEITHER: []}
CHECK_OF_FIO = [
    "--verify=crc32c",
    "--ioengine=libaio",
    "--direct=1",
    "--output=/dev/null",
    *("--clocksource=clock_gettime", "--thread"),  # starts in a third of the time
]
LOAD_OF_FIO = ["--name=w", "--rw=randwrite", "--bs=16k", "--iodepth=8", "--size=2m"]


@contextmanager
def made(row: Row, seed: int) -> Iterator[Device]:
    """A new device, in a folder of its own."""
    values = {"size": "4MiB", "seed": seed, "cache": row.cache}
    script = Script.model_validate(values)
    with (
        TemporaryDirectory() as name,
        running(script, Path(name) / "device") as device,
    ):
        yield device


def judged(row: Row, seed: int) -> dict[str, int]:
    """The fact `verify` of a pass of reads after a cut."""
    limit_bytes = (1024 + seed % 97 * 16) * 1024
    with made(row, seed) as device, device.disk.open("rb") as disk:
        stamps = StampFile(file_facts(device.disk, disk.fileno()))
        try:
            _run(device, stamps, WRITES | PROMISES[row.promise], limit_bytes, seed)
            device.tell("cut")
            stamps.power_was_cut()
            return _run(device, stamps, READS, SIZE_BYTES, seed)
        finally:
            stamps.forget()  # a later device may get the same inode


def _run(
    device: Device, stamps: StampFile, stream: dict[str, Any], limit: int, seed: int
) -> dict[str, int]:
    """A run of the engine, as a session starts it; its fact `verify`."""
    job = Job(
        target=str(device.disk),
        capacity_bytes=SIZE_BYTES,
        block_bytes=512,
        streams=(JobStream.model_validate(stream),),
        limit_bytes=limit,
        seed=seed,
        read_only=not stream["write_sizes"],
    )
    stamps.path.parent.mkdir(parents=True, exist_ok=True)
    text = engine_job(job, Settings(), stamps=stamps.path)
    with device.disk.open("rb") as disk:
        *_, end = EngineExecution(Path(engine_path()), text, [disk.fileno()])
    assert isinstance(end, Result), end
    found: dict[str, int] = end.facts["verify"]
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


def main(cuts: int = 1000, cuts_of_fio: int = 100, *names: str) -> int:
    """The table; 1 if a device was accused wrongly, or a defect was not found."""
    print("| cache | asked | accused wrongly | shows | first | cuts | bound | fio |")
    print("|---|---|---|---|---|---|---|---|")
    with TemporaryDirectory() as state, ThreadPoolExecutor(AT_ONCE) as pool:
        os.environ["XDG_STATE_HOME"] = state
        rows = [row for row in ROWS if not names or row.name in names]
        return max(_shown(row, cuts, cuts_of_fio, pool) for row in rows)


def _shown(row: Row, cuts: int, cuts_of_fio: int, pool: ThreadPoolExecutor) -> int:
    """Print a row; 1 if it is not what it should be."""
    found = pool.map(partial(judged, row), range(7, 7 + cuts))
    classes = [_classes(one) for one in found]
    accused = sum(bool(one - {*row.shows}) for one in classes)
    hits = [n + 1 for n, one in enumerate(classes) if {*row.shows} <= one]
    sure = f"{100 * (1 - 0.05 ** (1 / cuts)):.2g} %"
    by_fio = sum(pool.map(partial(accused_by_fio, row), range(cuts_of_fio)))
    cells = [row.name, row.promise, f"{accused} of {cuts}", ", ".join(row.shows) or "-"]
    cells += (
        [f"{hits[0]}", f"{len(hits)}", "-"] if row.shows and hits else ["-", "-", sure]
    )
    print(f"| {' | '.join(cells)} | {by_fio} of {cuts_of_fio} |", flush=True)
    return int(accused > 0 or not hits)


def _classes(found: dict[str, int]) -> set[str]:
    return {name for name in BROKEN if found.get(name)}


if __name__ == "__main__":
    counts, names = map(int, sys.argv[1:3]), sys.argv[3:]
    sys.exit(main(*counts, *names))
