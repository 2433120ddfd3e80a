"""What an author gives: a connection that reads and writes, one I/O at a time."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol


class Device(Protocol):
    """One connection to a target; it is used by one thread at a time.

    An I/O that fails raises OSError and is counted. ConnectionError says that the
    connection is of no more use, and ends the run.
    """

    @property
    def size_bytes(self) -> int:
        """How large the target is."""

    def read(self, offset: int, size: int, /) -> object:
        """Read so many bytes there; returns when they have come."""

    def write(self, offset: int, data: bytes, /) -> object:
        """Write the data there; returns when the target has taken it."""

    def close(self) -> None:
        """End the connection; also from another thread, while an I/O waits."""


def hang_up(device: Device) -> None:
    """Close a connection, also one that is broken already."""
    with suppress(OSError):
        device.close()
