"""Does the engine grow? A long run with intervals of 1 ms, and what a day would add.

    .venv/bin/python tests/benchmarks/engine_soak.py [--minutes 10] [--qd 32]

Reads /dev/zero, so that there are as many I/Os as can be. Printed are the anonymous
memory as it goes (program text comes in page by page and would look like growth),
and its slope (least squares, after the first two minutes) for a day.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from ioplan_io_uring import engine_path

GIB, MS, MINUTE_NS = 1 << 30, 1_000_000, 60_000_000_000
WARM_S, LOOK_S, SHOWN_S = 120, 1.0, 60


def main() -> None:
    """Run, look and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--qd", type=int, default=32)
    options = parser.parse_args()
    with subprocess.Popen(
        [engine_path(), "run", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as engine:  # fmt: skip
        assert engine.stdin and engine.stdout
        engine.stdin.write(json.dumps(job(options.minutes, options.qd)))
        engine.stdin.close()
        looks: list[tuple[float, int]] = []
        Thread(target=watch, args=(engine, looks), daemon=True).start()
        lines, last = 0, ""
        for line in engine.stdout:
            lines, last = lines + 1, line
    tell(looks, lines, json.loads(last))


def job(minutes: float, qd: int) -> dict[str, Any]:
    """Random reads of 4 KiB."""
    sizes = [{"size_bytes": 4096, "percent": 100.0}]
    stream = {
        "name": "main", "pattern": "random", "read_percent": 100.0, "qd": qd,
        "read_sizes": sizes, "write_sizes": sizes, "region_start_bytes": 0,
        "region_end_bytes": GIB,
    }  # fmt: skip
    return {
        "target": "/dev/zero", "capacity_bytes": GIB, "block_bytes": 512,
        "streams": [stream], "run_ns": round(minutes * MINUTE_NS), "interval_ns": MS,
    }  # fmt: skip


def watch(engine: subprocess.Popen[str], looks: list[tuple[float, int]]) -> None:
    """Note the anonymous memory in KiB every second."""
    status, began_s = Path(f"/proc/{engine.pid}/status"), time.monotonic()
    while engine.poll() is None:
        (line,) = (
            x for x in status.read_text().splitlines() if x.startswith("RssAnon:")
        )
        looks.append((time.monotonic() - began_s, int(line.split()[1])))
        if len(looks) % SHOWN_S == 1:
            print(f"{looks[-1][0]:5.0f} s {looks[-1][1]:8} KiB", flush=True)
        time.sleep(LOOK_S)


def tell(looks: list[tuple[float, int]], lines: int, result: dict[str, Any]) -> None:
    """The sum of it."""
    counts = result["streams"][0]["directions"]["read"]
    warm = [look for look in looks if look[0] > min(WARM_S, looks[-1][0] / 2)]
    slope, _ = np.polyfit(*np.array(warm).T, 1)
    print(f"{counts['ios']:.3g} I/Os, {lines} lines, {counts['errors']} errors")
    print(f"a day would add {slope * 86400:.0f} KiB")
    print(f"clock: {result['facts']['clock_drift_ppm']} ppm off over the run")


if __name__ == "__main__":
    sys.exit(main())
