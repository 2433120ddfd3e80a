"""The device's log: each I/O that arrived, as an array, a table, or a summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ioplan.results import pyarrow
from ioplan_witness.device import MAGIC, Device, DeviceError

KINDS = ("read", "write", "flush", "discard")
ENTRY = np.dtype(
    [
        ("arrived_ns", "<u8"),
        ("done_ns", "<u8"),
        ("due_ns", "<u8"),
        ("offset", "<u8"),
        ("digest", "<u8"),
        ("size", "<u4"),
        ("moved", "<u4"),
        ("thread", "<u4"),
        ("depth", "<u2"),
        ("errno", "<u2"),
        ("entropy", "<u2"),
        ("zeros", "<u2"),
        ("kind", "u1"),
        ("fua", "u1"),
        ("spare", "<u2"),
    ]
)
"""As `device/src/log.rs` writes it."""

Entries = npt.NDArray[np.void]


def read_log(path: Path) -> Entries:
    """All entries in the order of arrival. Raises DeviceError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DeviceError(f"cannot read the log {path}: {error.strerror}") from error
    if not content.startswith(MAGIC):
        raise DeviceError(f"{path} is no log of a device")
    whole = (len(content) - len(MAGIC)) // ENTRY.itemsize
    found = np.frombuffer(content, ENTRY, whole, len(MAGIC))
    return found[np.argsort(found["arrived_ns"], kind="stable")]


def seen(device: Device) -> Entries:
    """All that a running device has answered."""
    device.tell("flush-log")
    return read_log(device.log)


def columns(entries: Entries) -> dict[str, Any]:
    """The entries as columns with their usual units: for Arrow and JSON."""
    kinds = np.array(KINDS)[entries["kind"]]
    return {
        "time_ns": entries["arrived_ns"],
        "latency_ns": entries["done_ns"] - entries["arrived_ns"],
        "scripted_ns": entries["due_ns"] - entries["arrived_ns"],
        "kind": kinds,
        "offset_bytes": entries["offset"],
        "size_bytes": entries["size"],
        "moved_bytes": entries["moved"],
        "depth": entries["depth"],
        "thread": entries["thread"],
        "errno": entries["errno"],
        "fua": entries["fua"] > 0,
        "digest": entries["digest"],
        "entropy_bits": entries["entropy"] / 256,
        "zero_share": entries["zeros"] / 65535,
    }


def write_parquet(entries: Entries, out: BinaryIO) -> None:
    """Needs pyarrow, of the extra `parquet`. Raises ExportError."""
    pa, pq = pyarrow()
    pq.write_table(pa.table(columns(entries)), out, compression="zstd")
