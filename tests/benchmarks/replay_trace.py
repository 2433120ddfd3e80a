"""When the I/Os of a trace arrive: ioplan's replay beside fio's `read_iolog`.

    .venv/bin/python tests/benchmarks/replay_trace.py [ROUNDS [FIO …]]

A trace of bursts (gamma gaps, variation 1.33) is replayed at four speeds at a test
device, in turns: with nothing else, and beside eight busy processes; by ioplan, and by
the fio in PATH or those that are named. The device takes 200 us, but 20 ms for three
of a hundred I/Os: so that is its 99th percentile. By its log, the table has how late the I/Os came, and the 99th
percentile of their latency, from their arrival and from their recorded time, beside
the one that was reported. The last line is CPU time per I/O: the engine with a `rate`
against the engine with a trace of the same I/Os.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ioplan.trace import DTYPE, Ios, write
from ioplan_witness import Device, Script, seen
from ioplan_witness.device import running

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from command import ioplan, plan_file

IOS, SPAN_NS, SIZE = 4000, 8_000_000_000, 12288
SPEEDS, MS_NS = (1, 2, 4, 10), 1_000_000
DEVICE = {
    "size": "4MiB",
    "latency": [
        {"shape": "values", "values": ["200us", "20ms"], "weights": [97, 3]},
    ],
}
PLAN = 'trace web = "web.iotrace"\ntest "T" {{ run replay web, speed {speed} }}\n'
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


def iolog(trace: Ios, disk: str, speed: int) -> str:
    """What fio reads: times in us, as fio writes them, of the faster trace."""
    lines = ["fio version 3 iolog", f"0 {disk} add", f"0 {disk} open"]
    lines += [
        f"{io['time_ns'] // 1000 // speed} {disk} read {io['offset']} {io['size']}"
        for io in trace
    ]
    return "\n".join([*lines, f"{SPAN_NS // 1000 // speed} {disk} close", ""])


def by_ioplan(device: Device, folder: Path, speed: int) -> float:
    """The 99th percentile that is reported, in ms."""
    plan = plan_file(folder, PLAN.format(speed=speed))
    done = ioplan("run", plan, "--target", device.disk, "--json")
    assert done.code == 0, done.err
    points = done.of("record")[-1]["record"]["directions"]["read"]["latency"]
    return next(
        float(one["latency_ns"]) / MS_NS
        for one in points["percentiles"]
        if one["percent"] == 99
    )


def by_fio(fio: str, trace: Ios, device: Device, folder: Path, speed: int) -> float:
    """The 99th percentile that is reported, in ms."""
    log, out = folder / "web.log", folder / "out.json"
    log.write_text(iolog(trace, str(device.disk), speed))
    words = [fio, "--name=t", f"--read_iolog={log}", "--direct=1", "--iodepth=256"]
    words += ["--ioengine=libaio", f"--output={out}", "--output-format=json"]
    subprocess.run(words, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    (job,) = json.loads(out.read_text())["jobs"]
    return float(job["read"]["clat_ns"]["percentile"]["99.000000"]) / MS_NS


def log_of(trace: Ios, device: Device) -> Any:
    """What arrived, in the order of the trace."""
    entries = seen(device)
    entries = entries[entries["size"] == SIZE]
    assert len(entries) == len(trace), f"{len(entries)} I/Os arrived"
    return entries


@contextmanager
def beside(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def replayed(who: str, processes: int, speed: int) -> tuple[Ios, Any, float]:
    """The trace, the log of a new device, and the percentile that is reported."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        os.environ["IOPLAN_STORE"] = f"{name}/store.db"
        trace = bursts(folder)
        script = Script.model_validate(DEVICE)
        with running(script, folder / "device") as device, beside(processes):
            told = (
                by_ioplan(device, folder, speed)
                if who == "ioplan"
                else by_fio(who, trace, device, folder, speed)
            )
            return trace, log_of(trace, device), told


def row(trace: Ios, log: Any, told_ms: float, speed: int) -> str:
    """By the device's log: lateness, of which the least is 0, and latencies."""
    due_ns = trace["time_ns"] / speed
    late_ns = log["arrived_ns"] - due_ns
    late_ms = (late_ns - late_ns.min()) / MS_NS
    within = [100 * float((late_ms <= limit_ms).mean()) for limit_ms in (0.1, 1)]
    p50, p99 = np.quantile(late_ms, (0.5, 0.99))
    own_ms = np.quantile((log["done_ns"] - log["arrived_ns"]) / MS_NS, 0.99)
    whole_ms = late_ms + (log["done_ns"] - log["arrived_ns"]) / MS_NS
    true_ms = np.quantile(whole_ms, 0.99)
    return (
        f"{within[0]:.1f} % | {within[1]:.1f} % | {p50:.2f} | {p99:.2f} "
        f"| {late_ms.max():.2f} | {100 * late_ms[-1] * MS_NS * speed / SPAN_NS:.2f} % "
        f"| {told_ms:.2f} | {own_ms:.2f} | {true_ms:.2f} |"
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


def version_of(fio: str) -> str:
    found = subprocess.run([fio, "--version"], check=True, capture_output=True)
    return found.stdout.decode().strip()


HEAD = (
    *("replay by", "beside", "speed", "within 100 us", "within 1 ms", "late p50, ms"),
    *("p99", "max", "drift", "p99 told, ms", "from arrival", "from the recorded time"),
)


def main(rounds: int, fios: Sequence[str]) -> None:
    names = {"ioplan": "ioplan", **{fio: version_of(fio) for fio in fios}}
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for processes in (0, 8):
        where = f"{processes} busy" if processes else "nothing"
        for speed in SPEEDS * rounds:
            for who, name in names.items():
                found = row(*replayed(who, processes, speed), speed)
                print(f"| {name} | {where} | {speed} | {found}", flush=True)
    print(cost(rounds))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:] or ["fio"])
