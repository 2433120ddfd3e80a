"""The processes that serve test devices."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ioplan_witness import Device


def server_of(one: Device) -> str:
    """The process that serves the device."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = place.read_bytes().split(b"\0")
            if "ioplan-device" in str(words[0]) and bytes(one.folder) in words:
                return place.parent.name
    raise AssertionError(f"nothing serves {one.folder}")
