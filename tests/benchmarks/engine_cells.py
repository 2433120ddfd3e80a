"""The cells of the engine's benchmark: what is done, by which programs, on what."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

GIB = 1 << 30
FIO_ALONE: dict[str, float | None] = {"fio": None, "engine": None}


class Setting(Struct, frozen=True):
    """Where and how long. A target that this machine lacks is None."""

    targets: dict[str, str | None]
    seconds: float
    t_io_uring: Path | None


class Cell(Struct, frozen=True):
    """One workload. `programs` has what each should cost in times the engine."""

    name: str
    target: str
    qd: int
    programs: dict[str, float | None]
    read_percent: int = 100
    sizes: dict[int, int] = field(default_factory=lambda: {4096: 100})
    zipf: float | None = None
    bytes: int = GIB
    instructions: int | None = None
    """How many an I/O of the engine should cost at most, outside the kernel."""
    holds_depth: bool = False
    """Whether a device's time outweighs the engine's own, so that the depth is held."""

    @property
    def title(self) -> str:
        """As a row of a document has it."""
        sizes = f"{min(self.sizes)} B to " if len(self.sizes) > 1 else ""
        kinds = {100: "reads", 0: "writes"}
        kind = kinds.get(self.read_percent, f"I/Os, {self.read_percent} % reads")
        skew = f", Zipf {self.zipf}" if self.zipf else ""
        return f"{sizes}{max(self.sizes) >> 10} KiB {kind}{skew}, {self.target}, QD {self.qd}"


CELLS = (
    Cell(
        "zero-32", "/dev/zero", 32,
        {"fio": 4.0, "fio tuned": 2.0, "t/io_uring": 0.98, "engine": None},
        instructions=165,
    ),
    Cell(
        "zero-1", "/dev/zero", 1,
        {"fio": 2.0, "fio tuned": None, "t/io_uring": 0.97, "engine": None},
        instructions=340,
    ),
    Cell("zero-4", "/dev/zero", 4, {"t/io_uring": 0.97, "engine": None}),
    Cell("zero-128", "/dev/zero", 128, {"t/io_uring": 0.97, "engine": None}),
    Cell(
        "write", "/dev/zero", 32, {"fio refilling": 5.0, "fio": None, "engine": None},
        read_percent=0,
    ),
    Cell(
        "write-128k", "/dev/zero", 8, {"fio refilling": 5.0, "fio": None, "engine": None},
        read_percent=0, sizes={128 << 10: 100},
    ),
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
        "loop-1", "loop", 1, {"fio": None, "t/io_uring": None, "engine": None},
        bytes=GIB // 4, holds_depth=True,
    ),
    Cell(
        "loop-32", "loop", 32, {"fio": None, "t/io_uring": None, "engine": None},
        bytes=GIB // 4, holds_depth=True,
    ),
    Cell(
        "file-1", "file", 1, {"fio": 1.5, "t/io_uring": None, "engine": None},
        bytes=GIB // 4, holds_depth=True,
    ),
    Cell(
        "file-32", "file", 32, {"fio": 1.5, "t/io_uring": None, "engine": None},
        bytes=GIB // 4, holds_depth=True,
    ),
)  # fmt: skip
