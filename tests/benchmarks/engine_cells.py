"""The cells of the engine's benchmark: what is done, by which programs, on what."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

GIB = 1 << 30
FIO_ALONE: dict[str, float | None] = {"fio": None, "engine": None}


@dataclass(frozen=True)
class Setting:
    """Where and how long. A target that this machine lacks is None."""

    targets: dict[str, str | None]
    seconds: float
    t_io_uring: Path | None


@dataclass(frozen=True)
class Cell:
    """One workload. `programs` has what each should cost in times the engine."""

    name: str
    target: str
    qd: int
    programs: dict[str, float | None]
    read_percent: int = 100
    sizes: dict[int, int] = field(default_factory=lambda: {4096: 100})
    zipf: float | None = None
    bytes: int = GIB


CELLS = (
    Cell(
        "zero-32", "/dev/zero", 32,
        {"fio": 4.0, "fio tuned": 2.0, "t/io_uring": 0.98, "engine": None},
    ),
    Cell(
        "zero-1", "/dev/zero", 1,
        {"fio": 2.0, "fio tuned": None, "t/io_uring": 0.95, "engine": None},
    ),
    Cell("write", "/dev/zero", 32, {"fio": 4.0, "engine": None}, read_percent=0),
    Cell("mixed", "/dev/zero", 32, {"fio": 4.0, "engine": None}, read_percent=70),
    Cell(
        "sizes", "/dev/zero", 32, {"fio": 4.0, "engine": None},
        # Beyond a page, /dev/zero answers short when another process wants the CPU.
        sizes={512: 20, 1024: 20, 2048: 20, 4096: 40},
    ),
    Cell("zipf", "/dev/zero", 32, {"fio": 4.0, "engine": None}, zipf=1.1),
    Cell(
        "zram-1", "zram", 1, {"fio": 4.0, "fio psync": 1.3, "engine": None},
        bytes=GIB // 4,
    ),
    Cell(
        "file-1", "file", 1, {"fio": 1.5, "t/io_uring": None, "engine": None}, bytes=GIB // 4),
    Cell("file-32", "file", 32, {"fio": 1.5, "engine": None}, bytes=GIB // 4),
)  # fmt: skip
