"""NVMe's own ways to erase: format of one namespace, sanitize of a whole drive."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from ioplan.backends.backend import BackendError, ProgressCallback
from ioplan.core.system import fcntl
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.nvme import (
    LOG_BYTES,
    LOG_PAGE,
    Controller,
    Nvme,
    SanitizeLog,
    wait_for_end,
)
from ioplan.runner.guard.target import Target

FORMAT, SANITIZE = 0x80, 0x84
USER_DATA_ERASE = 1
BLOCK_ERASE, CRYPTO_ERASE = 2, 4
FORMAT_MS = 4 * 3_600_000
"""The kernel resets a drive that takes longer; nvme-cli's 10 minutes may be too few."""
BLKSSZGET, BLKFLSBUF = 0x1268, 0x1261

Erase = Callable[[ProgressCallback], str]
"""Erases a target, and returns how."""


def prepare_format(target: Target) -> Erase:
    """Check that a format erases only this namespace. Raises BackendError, OSError."""
    nvme = _namespace(target, "format")
    controller = nvme.controller()
    if not controller.formats:
        raise _refused(target, "format", "its controller does not support the command")
    if controller.formats_all:
        _check_alone(target, nvme, controller, "format")

    def erase(_: object) -> str:
        word = nvme.layout().cdw10(USER_DATA_ERASE)
        nvme.admin(FORMAT, nvme.nsid, word, timeout_ms=FORMAT_MS)
        _check_unchanged(target)
        return f"formatted, namespace {nvme.nsid} with erase of user data"

    return erase


def prepare_sanitize(target: Target) -> Erase:
    """Check that the drive has no other namespace. Raises BackendError, OSError."""
    nvme = _namespace(target, "sanitize")
    controller = nvme.controller()
    action = action_of(controller)
    if action is None:
        why = "its controller supports neither block erase nor crypto erase"
        raise _refused(target, "sanitize", why)
    _check_alone(target, nvme, controller, "sanitize")
    if _log(nvme).under_way:
        why = "it is being sanitized already; wait until it ends"
        raise _refused(target, "sanitize", why)

    def erase(on_progress: ProgressCallback) -> str:
        nvme.admin(SANITIZE, 0, action)
        trouble = wait_for_end(lambda: _log(nvme), on_progress)
        if trouble:
            raise BackendError(f"cannot purge {target.facts.path}: {trouble}")
        _check_unchanged(target)
        return f"sanitized, by {'block' if action == BLOCK_ERASE else 'crypto'} erase"

    return erase


def action_of(controller: Controller) -> int | None:
    """Block erase if there is one; never overwrite, which wears the flash."""
    if controller.block_erase:
        return BLOCK_ERASE
    return CRYPTO_ERASE if controller.crypto_erase else None


def _log(nvme: Nvme) -> SanitizeLog:
    return SanitizeLog.of(nvme.log(LOG_PAGE, LOG_BYTES))


def _namespace(target: Target, what: str) -> Nvme:
    """Not of a partition: commands to it affect the whole namespace."""
    device = Device.numbered(os.fstat(target.fd).st_rdev)
    if not device.disk.text("nsid"):
        raise _refused(target, what, "it is not an NVMe namespace")
    if device.partition:
        raise _refused(target, what, "it is a partition; name the whole namespace")
    return Nvme(target.fd)


def _check_alone(target: Target, nvme: Nvme, controller: Controller, what: str) -> None:
    others = nvme.other_namespaces(controller)
    if others:
        listed = ", ".join(map(str, others))
        why = (
            "this would erase the whole drive, which has other namespaces too: "
            f"{listed}"
        )
        raise _refused(target, what, why)


def _refused(target: Target, what: str, why: str) -> BackendError:
    return BackendError(
        f'cannot purge {target.facts.path} by {what}: {why}; or set purge = "discard" '
        f'or "zeros" in the target\'s [targets.NAME] of the lab'
    )


def _check_unchanged(target: Target) -> None:
    """Capacity and block size must be what the session knows."""
    fcntl.ioctl(target.fd, BLKFLSBUF)  # drop what the page cache has of before
    size = os.lseek(target.fd, 0, os.SEEK_END)
    (block,) = struct.unpack("i", fcntl.ioctl(target.fd, BLKSSZGET, bytes(4)))
    if (size, block) != (target.facts.capacity_bytes, target.facts.block_bytes):
        raise BackendError(
            f"{target.facts.path} had, after its purge, {size} B in blocks of "
            f"{block} B, and had {target.facts.capacity_bytes} B in blocks of "
            f"{target.facts.block_bytes} B; look at it with `nvme id-ns`"
        )
