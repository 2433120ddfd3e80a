"""The cells of the engine's benchmark: what is done, by which programs, on what."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from msgspec import Struct

from targets import ZRAM_CONTROL, loop_device, zram

GIB, MIB = 1 << 30, 1 << 20


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
    writes: bool = False
    size_bytes: int = 4096

    @property
    def title(self) -> str:
        """As a row of a document has it."""
        kind = "writes" if self.writes else "reads"
        return f"{self.size_bytes >> 10} KiB {kind}, {self.target}, QD {self.qd}"

    @property
    def bytes(self) -> int:
        return GIB if self.target == "/dev/zero" else GIB // 4

    @property
    def holds_depth(self) -> bool:
        """Whether a device's time outweighs the engine's own, so that the depth is held."""
        return self.target in {"file", "loop"}


ZERO, NO_AIM = "/dev/zero", {"fio": None, "t/io_uring": None, "engine": None}
WRITERS = {"fio refilling": 5.0, "fio": None, "engine": None}
CELLS = (
    Cell(
        "zero-32", ZERO, 32,
        {"fio": 4.0, "fio tuned": 2.0, "t/io_uring": 0.98, "engine": None},
    ),
    Cell(
        "zero-1", ZERO, 1,
        {"fio": 2.0, "fio tuned": None, "t/io_uring": 0.97, "engine": None},
    ),
    Cell("zero-4", ZERO, 4, {"t/io_uring": 0.97, "engine": None}),
    Cell("zero-128", ZERO, 128, {"t/io_uring": 0.97, "engine": None}),
    Cell("write", ZERO, 32, WRITERS, writes=True),
    Cell("write-128k", ZERO, 8, WRITERS, writes=True, size_bytes=128 << 10),
    Cell("zram-1", "zram", 1, {"fio": 4.0, "fio psync": 1.3, "engine": None}),
    Cell("loop-1", "loop", 1, NO_AIM),
    Cell("loop-32", "loop", 32, NO_AIM),
    Cell("file-32", "file", 32, {"fio": 1.5, "t/io_uring": None, "engine": None}),
)  # fmt: skip


@contextmanager
def made_targets(place: Path) -> Iterator[dict[str, str | None]]:
    """A file of random bytes in that folder, a loop device past its page cache, and an
    unwritten device in memory, whose reads cost the least; these are None without root."""
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile(dir=place))
        for _ in range(GIB // 4 // MIB):
            file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
        found = {ZERO: ZERO, "file": file.name, "loop": None, "zram": None}
        if not os.geteuid():
            loop = stack.enter_context(loop_device(Path(file.name), "--direct-io=on"))
            found["loop"] = str(loop)
            if ZRAM_CONTROL.exists():
                found["zram"] = str(stack.enter_context(zram(GIB // 4)))
        yield found
