"""The programs that are compared, each as a command and a reader of its output."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

from engine_cells import Cell, Setting
from msgspec import Struct
from msgspec.structs import replace
from used import Used, used

from ioplan_io_uring import engine_path

CPU = max(os.sched_getaffinity(0))


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


def pinned(*command: str, given: str = "") -> Used:
    """A process on the one CPU."""
    return used("taskset", "-c", str(CPU), *command, given=given)


class Engine:
    """ioplan-engine: the one that ioplan would use."""

    def call(self, cell: Cell, setting: Setting, **limits: int) -> Used:
        """A run of the cell."""
        sizes = [{"size_bytes": cell.size_bytes, "percent": 100}]
        stream = {
            "pattern": "random", "read_percent": 0 if cell.writes else 100,
            "qd": cell.qd, "read_sizes": sizes, "write_sizes": sizes,
            "region_start_bytes": 0, "region_end_bytes": cell.bytes,
        }  # fmt: skip
        job = {
            "target": setting.targets[cell.target], "capacity_bytes": cell.bytes,
            "block_bytes": 4096 if cell.target == "zram" else 512,
            "streams": [stream], "read_only": not cell.writes, **limits,
        }  # fmt: skip
        return pinned(str(engine_path()), "run", "-", given=json.dumps(job))

    def run(self, cell: Cell, setting: Setting) -> Measured:
        done = self.call(cell, setting, run_ns=int(setting.seconds * 1e9))
        result = json.loads(done.out.splitlines()[-1])
        (part,) = result["streams"][0]["directions"].values()
        iops = part["ios"] / result["run_ns"] * 1e9
        return Measured(part["ios"], done.cpu_s, iops, part["sum_ns"] / part["ios"])

    def start_up_s(self, cell: Cell, setting: Setting) -> float:
        calls = (self.call(cell, setting, limit_bytes=1) for _ in range(3))
        return statistics.median(one.cpu_s for one in calls)


class Fio(Struct, frozen=True):
    """fio, with what is to be added to the options that everybody uses."""

    extra: tuple[str, ...] = ("--ioengine=io_uring",)

    def call(self, cell: Cell, setting: Setting, *limits: str) -> Used:
        """A run of the cell."""
        return pinned(
            "fio", "--name=cell", f"--filename={setting.targets[cell.target]}",
            f"--direct={int(cell.target != '/dev/zero')}", f"--iodepth={cell.qd}",
            f"--size={cell.bytes}", "--output-format=json", "--norandommap",
            f"--rw=rand{'write' if cell.writes else 'read'}", f"--bs={cell.size_bytes}",
            *limits, *self.extra,
        )  # fmt: skip

    def run(self, cell: Cell, setting: Setting) -> Measured:
        length = ("--time_based", f"--runtime={int(setting.seconds * 1000)}ms")
        done = self.call(cell, setting, *length)
        (job,) = json.loads(done.out[done.out.index("{") :])["jobs"]
        part: dict[str, Any] = job["write" if cell.writes else "read"]
        mean_ns = part["lat_ns"]["mean"]
        return Measured(part["total_ios"], done.cpu_s, part["iops"], mean_ns)

    def start_up_s(self, cell: Cell, setting: Setting) -> float:
        calls = (self.call(cell, setting, "--number_ios=1") for _ in range(3))
        return statistics.median(one.cpu_s for one in calls)


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
