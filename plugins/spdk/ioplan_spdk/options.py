"""What a lab or `--option` may say to this backend."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ioplan.backends import BackendError, Model, did_you_mean, listed

MASK = r"^((0x)?[0-9a-fA-F]+|\[\d+(-\d+)?(,\d+(-\d+)?)*\])$"
DriverName = Literal["bdevperf", "fio"]


class SpdkOptions(Model):
    """`path` names bdevperf itself, `dir` a folder that has it or an SPDK tree.

    `driver` is what does the I/O: bdevperf, fio with SPDK's plug-in, or auto, which is
    chosen for each run. `fio` names that program and `plugin` SPDK's plug-in for it.
    `no_huge` needs neither root nor hugepages, and is for trying things out.
    `mask` are the cores as `0x2` or `[1,2]`; `bdev` is what a file or a kernel's
    device is opened with; `block_bytes` is for targets in memory. `startup_s` and
    `patience_s` are how long bdevperf may take to answer, and to end a run late.
    """

    path: str | None = None
    dir: str | None = None
    driver: DriverName | Literal["auto"] = "auto"
    fio: str | None = None
    plugin: str | None = None
    no_huge: bool = False
    mask: Annotated[str, Field(pattern=MASK)] | None = None
    memory_mib: Annotated[int, Field(ge=64)] = 512
    bdev: Literal["aio", "uring"] = "aio"
    block_bytes: Literal[512, 4096] = 512
    startup_s: Annotated[float, Field(gt=0)] = 30.0
    patience_s: Annotated[float, Field(gt=0)] = 30.0

    def on_cpus(self, cpus: tuple[int, ...]) -> SpdkOptions:
        """With the first of a job's CPUs as the core, unless `mask` says another."""
        if self.mask or not cpus:
            return self
        return self.model_copy(update={"mask": hex(1 << cpus[0])})

    @property
    def core_list(self) -> tuple[int, ...]:
        """The cores of `cores`, as numbers."""
        if self.cores.startswith("["):
            return tuple(listed(self.cores.strip("[]")))
        bits = int(self.cores, 16)
        return tuple(core for core in range(bits.bit_length()) if bits >> core & 1)

    @property
    def cores(self) -> str:
        """The mask: the last core that this process may use, unless said."""
        return self.mask or hex(1 << max(os.sched_getaffinity(0)))


def parse_options(texts: dict[str, Any]) -> SpdkOptions:
    """Checked options. Raises BackendError."""
    known = SpdkOptions.model_fields
    for name in texts:
        if name not in known:
            raise BackendError(
                f"the backend 'spdk' has no option {name!r}"
                f"{did_you_mean(name, known)}; it has: {', '.join(known)}"
            )
    try:
        options = SpdkOptions(**{name: _typed(name, texts[name]) for name in texts})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BackendError(f"option {where} of 'spdk': {first['msg']}") from None
    if options.mask and options.driver == "fio":
        raise BackendError(
            "option mask of 'spdk' is for bdevperf; remove it with driver=fio"
        )
    return options


def _typed(name: str, value: Any) -> Any:
    """`--option` gives text, and a choice among numbers takes numbers only."""
    is_number = isinstance(value, str) and value.isdecimal()
    return int(value) if name == "block_bytes" and is_number else value
