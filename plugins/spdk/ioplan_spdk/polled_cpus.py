"""Which CPUs other SPDKs poll: two on one CPU have half of it each, and do not say so.

SPDK's own locks of cores are of no use: bdevperf without hugepages, and fio with the
plug-in, take none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ioplan.backends import Event, Result, listed

PROC = Path("/proc")
REACTOR = re.compile(r"reactor_(\d+)")


def polled_cpus(proc: Path = PROC) -> dict[int, str]:
    """The CPUs, each with who polls it; what cannot be looked at polls none."""
    found: dict[int, str] = {}
    for folder in proc.glob("[0-9]*"):
        with suppress(OSError):
            for cpu in _polled_by(folder):
                found[cpu] = f"process {folder.name}"
    return found


def _polled_by(folder: Path) -> Iterator[int]:
    """One that a session has paused polls nothing; our own is the one that runs."""
    name = (folder / "comm").read_text().strip()
    if name != "fio" and not REACTOR.fullmatch(name):
        return
    if _field(folder, "PPid") == str(os.getpid()) or _field(folder, "State")[0] == "T":
        return
    if name != "fio":
        threads = (task / "comm" for task in (folder / "task").iterdir())
        names = (REACTOR.fullmatch(path.read_text().strip()) for path in threads)
        yield from (int(found[1]) for found in names if found)
    elif b"spdk_bdev" in (folder / "environ").read_bytes():
        for task in (folder / "task").iterdir():
            cpus = listed(_field(task, "Cpus_allowed_list"))
            yield from cpus if len(cpus) == 1 else ()


def _field(folder: Path, name: str) -> str:
    for line in (folder / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    return ""


def free_first(cpus: tuple[int, ...], polled: dict[int, str]) -> tuple[int, ...]:
    """The CPUs, those first that no other SPDK polls."""
    return tuple(sorted(cpus, key=lambda cpu: cpu in polled))


def shared_warning(cpus: tuple[int, ...], polled: dict[int, str]) -> str:
    """That a run shares a CPU; empty where it does not."""
    shared = [f"{polled[cpu]} polls CPU {cpu}" for cpu in cpus if cpu in polled]
    if not shared:
        return ""
    return (
        f"another SPDK has a CPU of this run: {', '.join(shared)}; each gets half of "
        "it; stop the other one, or set different CPUs (cpus in the lab)"
    )


def warned(event: Event, warning: str) -> Event:
    """The event; a Result with the warning, where there is one."""
    if not warning or not isinstance(event, Result):
        return event
    return event.model_copy(update={"warnings": (warning, *event.warnings)})
