"""What it costs that `verify` remembers what was promised of each block.

    .venv/bin/python tests/benchmarks/verify_journal.py [--rounds 7]

CPU time of the engine's own code (that of the kernel varies more than what is measured)
per write of 4 KiB at queue depth 32 to a file of the disk: with the journal in a file and
a flush every 64 writes, which it notes of each block, over `verify` that remembers in
memory and is promised nothing; in turn.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmark_row import tell

from ioplan_io_uring.engine import engine_path

REGION_BYTES, BLOCK_BYTES, SECOND_NS = 1 << 27, 4096, 10**9
MOST = 1.3


def cost_ns(target: Path, stamps: Path | None = None, **more: Any) -> float:
    """CPU time of the engine's own code per write of a run of a second."""
    sizes = [{"size_bytes": BLOCK_BYTES, "percent": 100.0}]
    stream = {
        "name": "main", "pattern": "random", "read_percent": 0.0, "qd": 32,
        "read_sizes": [], "write_sizes": sizes, "region_start_bytes": 0,
        "region_end_bytes": REGION_BYTES, **more,
    }  # fmt: skip
    job = {
        "target": str(target), "capacity_bytes": REGION_BYTES, "read_only": False,
        "block_bytes": BLOCK_BYTES, "streams": [stream], "run_ns": SECOND_NS,
        "interval_ns": SECOND_NS, **({"stamps": str(stamps)} if stamps else {}),
    }  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [engine_path(), "run", "-"],
        input=json.dumps(job), capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime
    result = json.loads(done.stdout.splitlines()[-1])
    ios: int = result["streams"][0]["directions"]["write"]["ios"]
    return cpu_s * SECOND_NS / ios


def main() -> None:
    """Measure in turn, print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    plain, without, with_it = [], [], []
    with TemporaryDirectory() as folder:
        target, file = Path(folder) / "target", Path(folder) / "stamps"
        target.write_bytes(bytes(REGION_BYTES))
        for _ in range(parser.parse_args().rounds):
            plain.append(cost_ns(target))
            without.append(cost_ns(target, verify=True))
            with_it.append(cost_ns(target, file, verify=True, sync_every=64))
    ratios = sorted(one / other for one, other in zip(with_it, without, strict=True))
    ratio = statistics.median(ratios)
    tell(
        "4 KiB writes with `verify`, a file, QD 32: own CPU time per I/O with the journal "
        "of promises over that without",
        f"{ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        f"at most {MOST}",
        held=ratio <= MOST,
    )
    for name, costs in (("no verify", plain), ("verify", without), ("all", with_it)):
        print(f"{name}: {statistics.median(costs):.0f} ns")


if __name__ == "__main__":
    main()
