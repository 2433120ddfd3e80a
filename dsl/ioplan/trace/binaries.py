"""Traces as binary records: of blktrace, of a hypervisor (vscsi), and as Parquet."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ioplan.trace.facts import TraceError
from ioplan.trace.pairs import Done
from ioplan.trace.prepared import DISCARD, FLUSH, NO_RESPONSE, READ, WRITE
from ioplan.trace.rows import FUA, SECTOR, Found, Row

BLKTRACE_MAGIC = b"\x07\x74\x61\x65"
"""0x65617400 and the version 7, little endian."""
BLKTRACE = struct.Struct("<IIQQIIIIIHH")
"""struct blk_io_trace: magic, sequence, time, sector, bytes, action, pid, device, cpu,
error, length of what follows."""
QUEUED, ISSUED, COMPLETE = 1, 7, 8
"""__BLK_TA_QUEUE, _ISSUE and _COMPLETE, in the low 16 bits of an action."""
IS_READ, IS_WRITE, IS_FLUSH, IS_DISCARD, IS_FUA = 1, 1 << 1, 1 << 2, 1 << 13, 1 << 15
"""BLK_TC_*, in the high 16 bits."""
VSCSI_1 = struct.Struct("<IIIHHQQ")
"""Sequence, bytes, segments, command, version, block, time in us."""
VSCSI_2 = struct.Struct("<HHIIIQQQ")
"""Command, version, sequence, bytes, segments, block, time in us, response time."""
SCSI_READS, SCSI_WRITES = (0x08, 0x28, 0x88, 0xA8), (0x0A, 0x2A, 0x8A, 0xAA)
FLUSHES = (0x35, 0x91)
"""SYNCHRONIZE CACHE."""
US_NS = 1000


def blktrace(path: Path, found: Found) -> Iterator[Row | Done]:
    """One CPU's file, or all of `NAME.blktrace.*` if it is one of several.

    Each is in the order of its times. What was queued counts; `found.event` is Q.
    """
    found.answers = found.pairs = True
    parts = [_blktrace(part, found) for part in _parts(path)]
    yield from heapq.merge(*parts, key=lambda row: row.time_ns)


def _parts(path: Path) -> list[Path]:
    """In the order of CPUs: blktrace writes a file for each."""
    stem, dot, cpu = path.name.rpartition(".")
    if not (dot and cpu.isdigit() and stem.endswith(".blktrace")):
        return [path]
    parts = [one for one in path.parent.glob(f"{stem}.*") if one.suffix[1:].isdigit()]
    return sorted(parts, key=lambda one: int(one.suffix[1:]))


def _blktrace(path: Path, found: Found) -> Iterator[Row | Done]:
    wanted, at = QUEUED if found.event == "Q" else ISSUED, 0
    with path.open("rb") as file:
        while head := file.read(BLKTRACE.size):
            if len(head) < BLKTRACE.size:
                raise TraceError(f"{path.name} is cut off at byte {at}")
            if not head.startswith(BLKTRACE_MAGIC):
                raise TraceError(f"{path.name}: no event of blktrace at byte {at}")
            event = BLKTRACE.unpack(head)
            if len(file.read(event[-1])) < event[-1]:
                raise TraceError(f"{path.name} is cut off at byte {at}")
            at += BLKTRACE.size + event[-1]
            yield from _event(event, wanted, found)


def _event(event: tuple[int, ...], wanted: int, found: Found) -> Iterator[Row | Done]:
    _, _, at_ns, sector, size, action, _, device, *_ = event
    what, flags = action & 0xFFFF, action >> 16
    volume = f"{device >> 20},{device & (1 << 20) - 1}"
    if what == COMPLETE and size:
        yield Done(at_ns, sector * SECTOR, size, volume)
        return
    if what != wanted:
        found.left_out["events of other kinds"] += 1
        return
    if flags & IS_FLUSH:
        yield Row(at_ns, FLUSH, 0, 0, volume)
    if not size:
        found.left_out["events without data"] += not flags & IS_FLUSH
        return
    kind = DISCARD if flags & IS_DISCARD else (READ, WRITE)[bool(flags & IS_WRITE)]
    yield Row(at_ns, kind, sector * SECTOR, size, volume, FUA * bool(flags & IS_FUA))


def vscsi_layout(data: bytes) -> struct.Struct | None:
    """The layout of the first record, if it is one of these versions."""
    for layout, at, version in ((VSCSI_1, 4, 1), (VSCSI_2, 1, 2)):
        if len(data) >= 2 * layout.size:
            records = [layout.unpack_from(data, n * layout.size) for n in range(2)]
            if all(one[at] >> 8 == version for one in records):
                return layout
    return None


def vscsi(path: Path, found: Found) -> Iterator[Row]:
    """Rows of a virtual SCSI disk, in blocks of 512 B."""
    with path.open("rb") as file:
        layout = vscsi_layout(file.read(2 * VSCSI_2.size)) or VSCSI_1
        found.answers = layout is VSCSI_2
        file.seek(0)
        number = 0
        while data := file.read(layout.size * 4096):
            if len(data) % layout.size:
                at = number * layout.size + len(data) // layout.size * layout.size
                raise TraceError(f"the file is cut off at byte {at}")
            for record in layout.iter_unpack(data):
                number += 1
                yield from _vscsi(layout, record, found)


def _vscsi(
    layout: struct.Struct, record: tuple[int, ...], found: Found
) -> Iterator[Row]:
    if layout is VSCSI_1:
        _, size, _, command, _, block, at_us = record
        took_ns = NO_RESPONSE
    else:
        command, _, _, size, _, block, at_us, took_us = record
        took_ns = took_us * US_NS
    if command in FLUSHES:
        yield Row(at_us * US_NS, FLUSH, 0, 0, response_ns=took_ns)
    elif command in (*SCSI_READS, *SCSI_WRITES):
        kind = READ if command in SCSI_READS else WRITE
        yield Row(at_us * US_NS, kind, block * SECTOR, size, response_ns=took_ns)
    else:
        found.left_out[f"commands {command:#x}"] += 1


TIMES = ("time_ns", "arrived_ns")
"""Names of the column of times: `ioplan device log --parquet` has the second."""
KINDS = {"read": READ, "write": WRITE, "flush": FLUSH, "discard": DISCARD}


def parquet(path: Path, found: Found) -> Iterator[Row]:
    """Columns `time_ns` or `arrived_ns`, `kind`, `offset`, `size`; perhaps `fua` and
    `response_ns`, which may be null."""
    try:
        file = import_module("pyarrow.parquet").ParquetFile(path)
    except ImportError:
        what = "Parquet needs pyarrow: install it with `pip install 'ioplan[parquet]'`"
        raise TraceError(what) from None
    except ValueError as error:  # ArrowInvalid is one
        raise TraceError(f"no whole Parquet file: {error}") from None
    names = file.schema_arrow.names
    time = next((name for name in TIMES if name in names), "")
    lacking = [name for name in ("kind", "offset", "size") if name not in names]
    if not time or lacking:
        what = ", ".join([*["time_ns"] * (not time), *lacking])
        raise TraceError(f"the Parquet file has no column {what}")
    more = [name for name in ("response_ns", "fua") if name in names]
    found.answers = "response_ns" in more
    for batch in file.iter_batches(columns=[time, "kind", "offset", "size", *more]):
        told = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        nothing = [None] * len(batch)
        others = (told.get(name, nothing) for name in ("fua", "response_ns"))
        columns = (told[time], told["kind"], told["offset"], told["size"], *others)
        for at_ns, kind, offset, size, fua, took_ns in zip(*columns, strict=True):
            found_kind = KINDS.get(kind, kind) if isinstance(kind, str) else kind
            if found_kind not in (READ, WRITE, FLUSH, DISCARD):
                raise TraceError(f"{kind!r} is no kind of I/O")
            if min(at_ns, offset, size, took_ns or 0) < 0:
                raise TraceError(f"a negative number: {at_ns}, {offset}, {size}")
            answer_ns = NO_RESPONSE if took_ns is None else took_ns
            yield Row(at_ns, found_kind, offset, size, "", FUA * bool(fua), answer_ns)
