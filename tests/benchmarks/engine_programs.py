"""The programs that are compared, each as a command and a reader of its output."""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from engine_cells import Cell, Setting
from msgspec import Struct
from msgspec.structs import replace

from ioplan_io_uring import engine_path

CPU = max(os.sched_getaffinity(0))
COUNTED_IOS = (20_000, 120_000)
COUNTED_NS = (300_000_000, 1_500_000_000)


class Measured(Struct, frozen=True):
    """One run."""

    ios: int
    cpu_s: float
    iops: float
    mean_ns: float | None

    @property
    def cpu_ns(self) -> float:
        """CPU time per I/O."""
        return self.cpu_s / self.ios * 1e9

    def held_depth(self, qd: int) -> float | None:
        """The depth that was held, of the one asked for, by Little's law."""
        return None if self.mean_ns is None else self.mean_ns * self.iops / 1e9 / qd

    def less(self, start_up_s: float) -> Measured:
        """The same without the CPU time of starting and ending."""
        return replace(self, cpu_s=self.cpu_s - start_up_s)


class Program(Protocol):
    """A load generator."""

    def run(self, cell: Cell, setting: Setting) -> Measured:
        """One run of the setting's length."""

    def start_up_s(self, cell: Cell, setting: Setting) -> float:
        """CPU time of a run of one I/O."""

    def instructions_per_io(self, cell: Cell, setting: Setting) -> float | None:
        """Outside the kernel; None where it cannot be told how many I/Os to do."""


def timed(command: list[str], stdin: str = "") -> tuple[str, float]:
    """Output and CPU time, kernel workers included, of a process on the one CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["taskset", "-c", str(CPU), *command],
        input=stdin, capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return done.stdout, spent


def slope(ios: Sequence[int], counts: Sequence[int]) -> float:
    """Per I/O, between a short run and a long one: start-up cancels out."""
    return (counts[1] - counts[0]) / (ios[1] - ios[0])


def counted(command: list[str], stdin: str = "") -> tuple[int, str]:
    """Instructions outside the kernel, by callgrind, and the output."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        grind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        done = subprocess.run(
            [*grind, *command], input=stdin, capture_output=True, text=True, check=True
        )
        total = re.search(r"^totals: (\d+)", out.read_text(), re.M)
        assert total, "callgrind writes its total"
        return int(total[1]), done.stdout


class Engine(Struct, frozen=True):
    """ioplan-engine: the one that ioplan would use, or the one named."""

    program: Path | None = None

    def job(self, cell: Cell, setting: Setting, **limits: int) -> str:
        """The cell as the engine reads it."""
        sizes = [{"size_bytes": b, "percent": p} for b, p in cell.sizes.items()]
        stream: dict[str, Any] = {
            "pattern": "random", "read_percent": cell.read_percent, "qd": cell.qd,
            "read_sizes": sizes, "write_sizes": sizes, "region_start_bytes": 0,
            "region_end_bytes": cell.bytes,
        }  # fmt: skip
        if cell.zipf:
            stream["distribution"] = {"kind": "zipf", "theta": cell.zipf}
        job = {
            "target": setting.targets[cell.target], "capacity_bytes": cell.bytes,
            "block_bytes": 4096 if cell.target == "zram" else 512,
            "streams": [stream], "read_only": cell.read_percent == 100, **limits,
        }  # fmt: skip
        return json.dumps(job)

    def command(self) -> list[str]:
        return [str(self.program or engine_path()), "run", "-"]

    def run(self, cell: Cell, setting: Setting) -> Measured:
        job = self.job(cell, setting, run_ns=int(setting.seconds * 1e9))
        output, cpu_s = timed(self.command(), job)
        return replace(self.read(output), cpu_s=cpu_s)

    def read(self, output: str) -> Measured:
        """The result, without the CPU time."""
        result = json.loads(output.splitlines()[-1])
        parts = result["streams"][0]["directions"].values()
        ios = sum(part["ios"] for part in parts)
        mean_ns = sum(part["sum_ns"] for part in parts) / ios
        return Measured(ios, 0.0, ios / result["run_ns"] * 1e9, mean_ns)

    def start_up_s(self, cell: Cell, setting: Setting) -> float:
        job = self.job(cell, setting, limit_bytes=1)
        return statistics.median(timed(self.command(), job)[1] for _ in range(3))

    def instructions_per_io(self, cell: Cell, setting: Setting) -> float | None:
        counts, ios = [], []
        for run_ns in COUNTED_NS:  # a limit in bytes would be looked at for each I/O
            count, output = counted(
                self.command(), self.job(cell, setting, run_ns=run_ns)
            )
            counts.append(count)
            ios.append(self.read(output).ios)
        return slope(ios, counts)


class Fio(Struct, frozen=True):
    """fio, with what is to be added to the options that everybody uses."""

    extra: tuple[str, ...] = ("--ioengine=io_uring",)

    def command(self, cell: Cell, setting: Setting, *limits: str) -> list[str]:
        """The cell as a command line."""
        direct = cell.target != "/dev/zero"
        command = [
            "fio", "--name=cell", f"--filename={setting.targets[cell.target]}",
            f"--direct={int(direct)}", f"--iodepth={cell.qd}", f"--size={cell.bytes}",
            "--output-format=json", "--norandommap", *limits, *self.extra,
        ]  # fmt: skip
        modes = {100: ["--rw=randread"], 0: ["--rw=randwrite"]}
        mixed = ["--rw=randrw", f"--rwmixread={cell.read_percent}"]
        command += modes.get(cell.read_percent, mixed)
        split = ":".join(f"{size}/{share}" for size, share in cell.sizes.items())
        one = len(cell.sizes) == 1
        command += [f"--bs={next(iter(cell.sizes))}" if one else f"--bssplit={split}"]
        if cell.zipf:
            command.append(f"--random_distribution=zipf:{cell.zipf}")
        return command

    def run(self, cell: Cell, setting: Setting) -> Measured:
        length = ("--time_based", f"--runtime={int(setting.seconds * 1000)}ms")
        output, cpu_s = timed(self.command(cell, setting, *length))
        job = json.loads(output[output.index("{") :])["jobs"][0]
        parts = [job[name] for name in ("read", "write") if job[name]["total_ios"]]
        ios = sum(part["total_ios"] for part in parts)
        total_ns = sum(part["lat_ns"]["mean"] * part["total_ios"] for part in parts)
        return Measured(ios, cpu_s, sum(part["iops"] for part in parts), total_ns / ios)

    def start_up_s(self, cell: Cell, setting: Setting) -> float:
        command = self.command(cell, setting, "--number_ios=1")
        return statistics.median(timed(command)[1] for _ in range(3))

    def instructions_per_io(self, cell: Cell, setting: Setting) -> float | None:
        # A thread, not a process, so that callgrind sees it; no end by size.
        always = ("--thread=1", "--io_size=1t")
        counts = [
            counted(self.command(cell, setting, f"--number_ios={ios}", *always))[0]
            for ios in COUNTED_IOS
        ]
        return slope(COUNTED_IOS, counts)


class TIoUring:
    """fio's t/io_uring, without latencies. It tells IOPS once a second.

    The CPU time is taken when a line comes, so that both are of the same second.
    """

    def command(self, cell: Cell, setting: Setting) -> list[str]:
        batch = min(cell.qd, 16)
        direct = int(cell.target != "/dev/zero")
        return [
            "taskset", "-c", str(CPU), "stdbuf", "-oL", str(setting.t_io_uring),
            f"-d{cell.qd}", f"-s{batch}", f"-c{batch}", "-b4096", "-p0", "-B1",
            "-F1", "-X1", "-R1", f"-O{direct}", "-n1", "-r4",
            str(setting.targets[cell.target]),
        ]  # fmt: skip

    def run(self, cell: Cell, setting: Setting) -> Measured:
        marks: list[tuple[float, float, float]] = []
        with subprocess.Popen(
            self.command(cell, setting), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            for line in process.stdout:
                if found := re.match(r"IOPS=([\d.]+)([MK]?)", line):
                    cpu_s = cpu_of(process.pid)
                    iops = float(found[1]) * {"M": 1e6, "K": 1e3, "": 1}[found[2]]
                    marks.append((time.monotonic(), cpu_s, iops))
        assert process.returncode == 0 and len(marks) >= 2
        ios = int(sum(mark[2] for mark in marks[1:]))
        (start, before_s, _), (end, after_s, _) = marks[0], marks[-1]
        return Measured(ios, after_s - before_s, ios / (end - start), None)

    def start_up_s(self, cell: Cell, setting: Setting) -> float:
        return 0.0

    def instructions_per_io(self, cell: Cell, setting: Setting) -> float | None:
        return None


def cpu_of(pid: int) -> float:
    """CPU seconds of a running process's threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


TUNED = (
    "--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1", "--nonvectored=1",
    "--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32", "--thread=1", "--clocksource=cpu",
    "--random_generator=lfsr", "--disable_slat=1", "--disable_clat=1",
)  # fmt: skip
PROGRAMS: dict[str, Program] = {
    "fio": Fio(),
    "fio tuned": Fio(TUNED),
    "fio refilling": Fio(("--ioengine=io_uring", "--refill_buffers")),
    "fio psync": Fio(("--ioengine=psync",)),
    "t/io_uring": TIoUring(),
    "engine": Engine(),
}
