"""NVMe admin commands through an open namespace.

They use the descriptor that is open, as a path may come to name another drive.
`nvme format` opens the drive by its path; it needs --force to get past our own
exclusive open, which turns its checks off; and on a controller that can only format
all namespaces it formats them all without a warning.
Layouts are those of the NVM Express base specification, 1.4 and 2.0.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable

from msgspec import Struct

from ioplan.backends.backend import ProgressCallback
from ioplan.core.system import fcntl

# NVMe's log page of a sanitize, and the wait for its end.

LOG_PAGE, LOG_BYTES = 0x81, 512
DONE, UNDER_WAY, FAILED, DONE_DEALLOCATED = 1, 2, 3, 4
WHOLE = 1 << 16
GLOBAL_DATA_ERASED = 1 << 8
POLL_S = 1.0
STALL_S = 3600.0
"""No longer wait for a sanitize without progress: one was seen to stall for a week."""


class SanitizeLog(Struct, frozen=True):
    """`progress` is in parts of 65536, and only valid while it is under way.

    `is_erased` is its bit Global Data Erased: no user data was written, on any
    namespace, since the last sanitize that succeeded.
    """

    progress: int
    state: int
    is_erased: bool = False

    @classmethod
    def of(cls, page: bytes) -> SanitizeLog:
        """SPROG is at byte 0, SSTAT at byte 2; its lowest three bits are the state."""
        progress, status = struct.unpack_from("<HH", page)
        return cls(progress, status & 7, bool(status & GLOBAL_DATA_ERASED))

    @property
    def under_way(self) -> bool:
        """Whether the drive is still sanitizing."""
        return self.state == UNDER_WAY

    @property
    def trouble(self) -> str:
        """Why a finished sanitize did not erase; empty if it did."""
        if self.state in (DONE, DONE_DEALLOCATED):
            return ""
        if self.state == FAILED:
            return (
                "the sanitize failed, and the drive refuses I/O until another one "
                "succeeds, or `nvme sanitize --sanact=exit-failure` releases it"
            )
        return f"the drive reports that its sanitize is in state {self.state}"


def wait_for_end(
    read_log: Callable[[], SanitizeLog], on_progress: ProgressCallback
) -> str:
    """Wait for the end; returns what went wrong, or "".

    A sanitize cannot be stopped: Ctrl-C only ends the wait.
    """
    log, reported, moved_s = read_log(), -1, time.monotonic()
    while log.under_way:
        if log.progress != reported:
            on_progress(log.progress / WHOLE)
            reported, moved_s = log.progress, time.monotonic()
        if time.monotonic() - moved_s > STALL_S:
            return (
                f"its sanitize has been at {reported / WHOLE:.1%} for "
                f"{STALL_S / 60:.0f} minutes; the drive may need a power cycle"
            )
        time.sleep(POLL_S)
        log = read_log()
    return log.trouble


ID, ADMIN = 0x4E40, 0xC0484E41
COMMAND = struct.Struct("=BBHIIIQQII6III")
"""opcode, flags, reserved, nsid, cdw2-3, metadata, data, sizes, cdw10-15, ms, result"""
PAGE_BYTES = 4096
ADMIN_TIMEOUT_MS = 30_000
GET_LOG, IDENTIFY = 0x02, 0x06
OF_NAMESPACE, OF_CONTROLLER, ACTIVE, ALLOCATED = 0x00, 0x01, 0x02, 0x10
"""CNS of Identify: one namespace, the controller, or a list of namespaces' numbers."""
ALL_NAMESPACES = 0xFFFFFFFF


class NvmeError(Exception):
    """The drive refused a command; the text has its opcode and status."""


class Nvme:
    """The namespace of an open descriptor, and its controller."""

    def __init__(self, fd: int) -> None:
        """Raises OSError for anything but an NVMe namespace."""
        self.fd, self.nsid = fd, fcntl.ioctl(fd, ID)

    def admin(
        self,
        opcode: int,
        nsid: int,
        cdw10: int,
        data_bytes: int = 0,
        timeout_ms: int = ADMIN_TIMEOUT_MS,
    ) -> bytes:
        """Send a command; returns the data that it reads. Raises NvmeError, OSError."""
        data = ctypes.create_string_buffer(data_bytes) if data_bytes else None
        address = ctypes.addressof(data) if data else 0
        # flags, metadata and all other words are 0
        words = (cdw10, 0, 0, 0, 0, 0)
        where = (opcode, 0, 0, nsid, 0, 0, 0, address, 0, data_bytes)
        command = bytearray(COMMAND.pack(*where, *words, timeout_ms, 0))
        status = fcntl.ioctl(self.fd, ADMIN, command)
        if status:
            raise NvmeError(
                f"the drive refused command {opcode:#x}: status {status:#x}"
            )
        return data.raw if data else b""

    def controller(self) -> Controller:
        """What the controller supports."""
        return Controller.of(self.admin(IDENTIFY, 0, OF_CONTROLLER, PAGE_BYTES))

    def layout(self) -> Layout:
        """The current format of the namespace."""
        return Layout.of(self.admin(IDENTIFY, self.nsid, OF_NAMESPACE, PAGE_BYTES))

    def other_namespaces(self, controller: Controller) -> list[int]:
        """The drive's other namespaces, of the whole subsystem if it lists those."""
        what = ALLOCATED if controller.manages_namespaces else ACTIVE
        found = nsids(self.admin(IDENTIFY, 0, what, PAGE_BYTES))
        return [nsid for nsid in found if nsid != self.nsid]

    def log(self, page: int, size_bytes: int) -> bytes:
        """A log page."""
        dwords = size_bytes // 4 - 1
        return self.admin(GET_LOG, ALL_NAMESPACES, dwords << 16 | page, size_bytes)


class Controller(Struct, frozen=True):
    """What Identify Controller says about erasing."""

    formats: bool
    manages_namespaces: bool
    formats_all: bool
    """A format, or its secure erase, affects all namespaces."""
    block_erase: bool
    crypto_erase: bool

    @classmethod
    def of(cls, page: bytes) -> Controller:
        """OACS at byte 256, SANICAP at 328, FNA at 524."""
        (oacs,) = struct.unpack_from("<H", page, 256)
        (sanicap,) = struct.unpack_from("<I", page, 328)
        return cls(
            formats=bool(oacs & 2),
            manages_namespaces=bool(oacs & 8),
            formats_all=bool(page[524] & 3),
            block_erase=bool(sanicap & 2),
            crypto_erase=bool(sanicap & 1),
        )


class Layout(Struct, frozen=True):
    """What Identify Namespace says that a format must repeat, or it would change."""

    lba_format: int
    extended_metadata: bool
    protection: int
    protection_first: bool

    @classmethod
    def of(cls, page: bytes) -> Layout:
        """FLBAS at byte 26, DPS at 29."""
        flbas, dps = page[26], page[29]
        return cls(
            lba_format=flbas & 0xF | (flbas >> 5 & 3) << 4,
            extended_metadata=bool(flbas & 0x10),
            protection=dps & 7,
            protection_first=bool(dps & 8),
        )

    def cdw10(self, erase: int) -> int:
        """Command dword 10 of a Format NVM that keeps all this."""
        upper = self.lba_format >> 4
        return (
            self.lba_format & 0xF
            | self.extended_metadata << 4
            | self.protection << 5
            | self.protection_first << 8
            | erase << 9
            | upper << 12
        )


def nsids(page: bytes) -> list[int]:
    """The numbers in a list of namespaces; it ends with 0 or with the page."""
    return [nsid for (nsid,) in struct.iter_unpack("<I", page) if nsid]
