"""CPUs that another SPDK polls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioplan.backends import BackendError
from ioplan_spdk import SpdkOptions, parse_options
from ioplan_spdk.polled_cpus import free_first, polled_cpus, shared_warning


def process(
    proc: Path, pid: int, names: list[str], state: str = "R", parent: int = 1
) -> Path:
    """A process with threads of these names, each on CPU 0 and up."""
    folder = proc / str(pid)
    for number, name in enumerate(names):
        task = folder / "task" / str(pid + number)
        task.mkdir(parents=True)
        (task / "comm").write_text(f"{name}\n")
        (task / "status").write_text(f"Cpus_allowed_list:\t{number}\n")
    (folder / "comm").write_text(f"{names[0]}\n")
    (folder / "status").write_text(f"State:\t{state} (x)\nPPid:\t{parent}\n")
    (folder / "environ").write_bytes(b"LD_PRELOAD=/x/spdk_bdev\0")
    return folder


def test_what_another_spdk_polls(tmp_path: Path) -> None:
    process(tmp_path, 100, ["reactor_3", "reactor_5", "rte_intr"])
    process(tmp_path, 200, ["fio", "fio"])
    process(tmp_path, 300, ["reactor_6"], state="T")
    process(tmp_path, 400, ["reactor_7"], parent=os.getpid())
    process(tmp_path, 500, ["bash"])
    (process(tmp_path, 600, ["fio"]) / "environ").write_bytes(b"")
    (tmp_path / "700").mkdir()  # it has just ended
    polled = polled_cpus(tmp_path)
    assert {cpu: who.split()[1] for cpu, who in polled.items()} == {
        3: "100", 5: "100", 0: "200", 1: "200"
    }  # fmt: skip
    assert free_first((5, 4, 3, 2), polled) == (4, 2, 5, 3)
    assert shared_warning((4, 2), polled) == ""
    assert "process 100 polls CPU 5" in shared_warning((4, 5), polled)


def test_a_mask_as_cores() -> None:
    for mask, cores in {"0x6": (1, 2), "2": (1,), "[1,4-6]": (1, 4, 5, 6)}.items():
        assert SpdkOptions(mask=mask).core_list == cores
    for wrong in ("cpu1", "[1", "0x"):
        with pytest.raises(BackendError, match="mask"):
            parse_options({"mask": wrong})
