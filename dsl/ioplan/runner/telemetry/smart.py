"""The logs of an NVMe drive, read by nvme-cli."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from ioplan.records.telemetry import Log
from ioplan.runner.telemetry.disk import Disk
from ioplan.runner.telemetry.procfs import Tree

SMART = ("smart-log", "--output-format=json")
OCP = ("ocp", "smart-add-log", "--output-format=json")
ENDURANCE = ("endurance-log", "--group-id=1", "--output-format=json")
POWER_STATE = ("get-feature", "--feature-id=2")
WRITE_CACHE = ("get-feature", "--feature-id=6")
CONTROLLER = ("id-ctrl", "--output-format=json")
TIMEOUT_S, END_S = 5.0, 1.0
SYSTEM_PATH = "/usr/sbin:/sbin"
"""Not in the path of ordinary users."""
CURRENT = re.compile(r"[Cc]urrent value:\s*(?:0[xX])?([0-9a-fA-F]+)")
STATE_BITS = 0x1F
CACHE_BIT = 1


class Logs(Struct, frozen=True):
    """The logs at one moment of a clock; what the drive does not have is empty.

    `endurance` is of the first endurance group, which most drives are as a whole.
    """

    smart: Log = {}
    ocp: Log = {}
    power_state: int | None = None
    endurance: Log = {}
    at_s: float = 0.0


class Smart:
    """The logs of one drive. What it refuses once is not requested again."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.program = shutil.which("nvme") or shutil.which("nvme", path=SYSTEM_PATH)
        self.refused: dict[tuple[str, ...], str] = {}

    def logs(self) -> Logs:
        """The logs now. Takes some 10 ms."""
        at_s = time.monotonic()
        smart, ocp, endurance = map(self._json, (SMART, OCP, ENDURANCE))
        found = CURRENT.search(self._output(POWER_STATE))
        state = int(found[1], 16) & STATE_BITS if found else None
        return Logs(
            dict(_numbers(smart)),
            dict(_numbers(ocp)),
            state,
            dict(_numbers(endurance)),
            at_s,
        )

    def smart_log(self) -> Log:
        """The SMART log alone."""
        return dict(_numbers(self._json(SMART)))

    def max_state_watts(self, state: int | None) -> float | None:
        """The maximum power of a power state, as the drive reports it."""
        watts = dict(_power_states(self.controller))
        return watts.get(state) if state is not None else None

    def volatile_write_cache(self) -> Literal["enabled", "disabled"] | None:
        """Whether it is on, of a drive that has one; None if it does not tell."""
        found = CURRENT.search(self._output(WRITE_CACHE))
        if not found:
            return None
        return "enabled" if int(found[1], 16) & CACHE_BIT else "disabled"

    @cached_property
    def controller(self) -> dict[str, Any]:
        """What the controller says of itself."""
        return self._json(CONTROLLER)

    @property
    def capacity_bytes(self) -> int | None:
        """The capacity of all namespaces, which the logs are of; None if unknown."""
        total = dict(_numbers(self.controller)).get("tnvmcap")
        return int(total) if total else None

    @property
    def problem(self) -> str:
        """Why there is no SMART log; empty if there is one."""
        if not self.program:
            return "the program nvme is not installed: install nvme-cli"
        return self.refused.get(SMART, "")

    def _json(self, words: tuple[str, ...]) -> dict[str, Any]:
        try:
            made = json.loads(self._output(words) or "{}")
        except ValueError:
            self.refused[words] = "nvme printed invalid JSON"
            made = {}
        return made if isinstance(made, dict) else {}

    def _output(self, words: tuple[str, ...]) -> str:
        if not self.program or words in self.refused:
            return ""
        *command, last = words
        try:
            process = _started([self.program, *command, self.node, last])
        except OSError as error:
            self.refused[words] = f"nvme cannot be started: {error.strerror}"
            return ""
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _abandon(process)
            self.refused[words] = f"nvme did not end within {TIMEOUT_S:.0f} s"
            return ""
        if process.returncode:
            self.refused[words] = _line(stderr) or f"nvme exited {process.returncode}"
            return ""
        return stdout.decode(errors="replace")


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """A drive that hangs holds it in the kernel: it is not waited for for ever."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_S)


def _line(text: bytes) -> str:
    return text.decode(errors="replace").strip().partition("\n")[0]


def _numbers(log: dict[str, Any]) -> Iterator[tuple[str, int | float]]:
    """Plain numbers, those that are written as text too, and one level below."""
    for name, value in log.items():
        if isinstance(value, dict):
            yield from ((f"{name}: {key}", n) for key, n in _numbers(value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value
        elif isinstance(value, str) and value.isascii() and value.isdigit():
            yield name, int(value)


def _power_states(controller: dict[str, Any]) -> Iterator[tuple[int, float]]:
    """`max_power` is in hundredths of a watt, or in ten-thousandths by bit 0."""
    for number, state in enumerate(controller.get("psds", ())):
        unit_w = 0.0001 if state.get("max_power_scale", 0) & 1 else 0.01
        if power := state.get("max_power"):
            yield number, power * unit_w


# Whether a drive has a volatile write cache, and whether that is on.

CacheState = Literal["absent", "disabled", "enabled"]
NO_CACHE, ON = "write through", "write back"
DISK_WITH_CACHE = "sd"
"""SCSI and ATA: the kernel has asked the drive whether it is on."""
_OF_KERNEL: dict[str, CacheState] = {NO_CACHE: "disabled", ON: "enabled"}


def volatile_write_cache(
    tree: Tree, disk: Disk | None, smart: Smart | None
) -> CacheState | None:
    """What the drive says of it; None where nobody can tell.

    The kernel knows of an NVMe drive only whether it has one.
    """
    if disk is None or not disk.is_target:
        return None
    kernel = tree.text(disk.whole / "queue/write_cache")
    if disk.whole.name.startswith(DISK_WITH_CACHE):
        return _OF_KERNEL.get(kernel)
    if smart is None:
        return None
    return "absent" if kernel == NO_CACHE else smart.volatile_write_cache()
