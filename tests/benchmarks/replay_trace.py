"""When the I/Os of a trace arrive: ioplan's replay beside fio's `read_iolog`.

    .venv/bin/python tests/benchmarks/replay_trace.py [ROUNDS]

A trace of bursts (gamma gaps, variation 1.33) is replayed at a test device, which notes
when each I/O arrives, in turns: with nothing else, and beside eight busy processes. The
last table is CPU time per I/O: the engine with a `rate` against the engine with a trace
of the same I/Os.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ioplan.trace.prepared import DTYPE, Ios, write
from ioplan.witness.device import Device, running
from ioplan.witness.log import seen
from ioplan.witness.script import Script

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from command import ioplan, plan_file

IOS, SPAN_NS, SIZE = 4000, 8_000_000_000, 12288
PLAN = 'trace web = "web.iotrace"\ntest "T" { run replay web }\n'
SPIN = "while True: pass"


def bursts(folder: Path) -> Ios:
    """The trace, as a trace file and as a log of fio's."""
    random = np.random.default_rng(1)
    gaps = random.gamma(1 / 1.33**2, 1.0, IOS)
    times = np.cumsum(gaps) - gaps[0]
    made = np.zeros(IOS, DTYPE)
    # whole us, as fio has no others
    made["time_ns"] = (times / times[-1] * SPAN_NS // 1000).astype("u8") * 1000
    made["size"], made["offset"] = SIZE, random.integers(0, 300, IOS) * SIZE
    write(folder / "web.iotrace", [made])
    return made


def iolog(trace: Ios, disk: Path) -> str:
    """What fio reads: times in us, as fio writes them."""
    lines = ["fio version 3 iolog", f"0 {disk} add", f"0 {disk} open"]
    lines += [
        f"{io['time_ns'] // 1000} {disk} read {io['offset']} {io['size']}"
        for io in trace
    ]
    return "\n".join([*lines, f"{SPAN_NS // 1000} {disk} close", ""])


def by_ioplan(trace: Ios, device: Device, folder: Path) -> None:
    done = ioplan("run", plan_file(folder, PLAN), "--target", device.disk, "--quiet")
    assert done.code == 0, done.err


def by_fio(trace: Ios, device: Device, folder: Path) -> None:
    log = folder / "web.log"
    log.write_text(iolog(trace, device.disk))
    words = ["fio", "--name=t", f"--read_iolog={log}", "--direct=1", "--iodepth=256"]
    words += ["--ioengine=libaio", "--output=/dev/null"]
    subprocess.run(words, cwd=folder, check=True, stderr=subprocess.DEVNULL)


def late_ns(trace: Ios, device: Device) -> Any:
    """Of each I/O, since the first one, in the order of the trace."""
    entries = seen(device)
    entries = entries[entries["size"] == SIZE]
    assert len(entries) == len(trace), f"{len(entries)} I/Os arrived"
    late = entries["arrived_ns"].astype(np.int64) - trace["time_ns"].astype(np.int64)
    return late - late[:20].min()


@contextmanager
def beside(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def replayed(how: Callable[..., None], processes: int) -> Any:
    """The lateness of one replay, on a new device."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        os.environ["IOPLAN_STORE"] = f"{name}/store.db"
        trace = bursts(folder)
        script = Script.model_validate({"size": "4MiB"})
        with running(script, folder / "device") as device, beside(processes):
            how(trace, device, folder)
            return late_ns(trace, device)


def row(who: str, where: str, late: Any) -> str:
    within = [100 * float((late <= limit).mean()) for limit in (100_000, 1_000_000)]
    p99_ms, drift_ms = np.quantile(late, 0.99) / 1e6, float(late[-1]) / 1e6
    return (
        f"| {who} | {where} | {within[0]:.1f} % | {within[1]:.1f} % | {p99_ms:.2f} "
        f"| {drift_ms:.2f} | {100 * late[-1] / SPAN_NS:.2f} % |"
    )


def cpu_us(folder: Path, workload: str) -> float:
    """CPU time of the engine per I/O, in us."""
    plan = f'trace even = "even.iotrace"\ntest "T" {{ run {workload} }}\n'
    target = ("--target", folder / "scratch", "--create", "64MiB", "--json")
    done = ioplan("run", plan_file(folder, plan), *target, "--backend", "io_uring")
    (line,) = done.of("record")
    record = line["record"]
    return sum(map(float, record["cpu"].values())) / 1e3 / int(record["total"]["ios"])


def cost(rounds: int) -> str:
    """The same reads by a rate and by a trace, in turns, faster than the disk is: where
    it is not, the time spent waiting for the next one would hide the rest."""
    with TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        os.environ["IOPLAN_STORE"] = f"{name}/store.db"
        folder, ios = Path(name), 100_000
        made = np.zeros(ios, DTYPE)
        made["time_ns"], made["size"] = np.arange(ios) * 2_000, 4096
        made["offset"] = np.random.default_rng(2).integers(0, 16384, ios) * 4096
        write(folder / "even.iotrace", [made])
        pairs = [
            (
                cpu_us(
                    folder,
                    "random 4KiB 100/0, qd 256, rate 500_000 iops for 400_000KiB",
                ),
                cpu_us(folder, "replay even"),
            )
            for _ in range(rounds)
        ]
    rate, trace = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(two / one for one, two in pairs)
    return (
        f"rate {rate:.2f} us, replay {trace:.2f} us of CPU per I/O: ratio {ratio:.2f}"
    )


def main(rounds: int) -> None:
    print(
        "| replay by | beside | within 100 us | within 1 ms | p99, ms | drift, ms | |"
    )
    print("|---|---|---|---|---|---|---|")
    for processes in (0, 8):
        where = f"{processes} busy" if processes else "nothing"
        for _ in range(rounds):
            for who, how in (("ioplan", by_ioplan), ("fio", by_fio)):
                print(row(who, where, replayed(how, processes)), flush=True)
    print(cost(rounds))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
