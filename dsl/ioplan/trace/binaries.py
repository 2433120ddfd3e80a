"""Traces as binary records: of blktrace, of a hypervisor (vscsi), and as Parquet."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from ioplan.core.extras import install_command
from ioplan.trace.facts import TraceError
from ioplan.trace.pairs import Done
from ioplan.trace.prepared import DISCARD, FLUSH, NO_RESPONSE, READ, WRITE
from ioplan.trace.rows import FUA, SECTOR, Found, Row, checked

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
Read = TypeVar("Read", Row, Row | Done)


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
            yield from _placed(at, _event(event, wanted, found))
            at += BLKTRACE.size + event[-1]


def _placed(at: int, rows: Iterator[Read]) -> Iterator[Read]:
    """Rows that a device could do. Raises TraceError with the byte."""
    try:
        for row in rows:
            yield checked(row) if isinstance(row, Row) else row
    except TraceError as error:
        raise TraceError(f"at byte {at}: {error}") from None


def _event(event: tuple[int, ...], wanted: int, found: Found) -> Iterator[Row | Done]:
    _, _, at_ns, sector, size, action, _, device, *_ = event
    what, flags = action & 0xFFFF, action >> 16
    volume = f"{device >> 20},{device & (1 << 20) - 1}"
    kind = DISCARD if flags & IS_DISCARD else (READ, WRITE)[bool(flags & IS_WRITE)]
    if what == COMPLETE and size:
        yield Done(at_ns, sector * SECTOR, size, volume, kind)
        return
    if what != wanted:
        found.left_out["events of other kinds"] += 1
        return
    if flags & IS_FLUSH:
        yield Row(at_ns, FLUSH, 0, 0, volume)
    if not size:
        found.left_out["events without data"] += not flags & IS_FLUSH
        return
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
                yield from _placed(number * layout.size, _vscsi(layout, record, found))
                number += 1


def _vscsi(
    layout: struct.Struct, record: tuple[int, ...], found: Found
) -> Iterator[Row]:
    if layout is VSCSI_1:
        _, size, _, command, version, block, at_us = record
        took_ns, wanted = NO_RESPONSE, 1
    else:
        command, version, _, size, _, block, at_us, took_us = record
        took_ns, wanted = took_us * US_NS, 2
    if version >> 8 != wanted:
        raise TraceError(f"no record of version {wanted}")
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
        what = f"Parquet needs pyarrow: {install_command('parquet')}"
        raise TraceError(what) from None
    except ValueError as error:  # ArrowInvalid is one
        raise TraceError(f"no whole Parquet file: {error}") from None
    schema = file.schema_arrow
    time = next((name for name in TIMES if name in schema.names), TIMES[0])
    wanted = (time, "kind", "offset", "size")
    if lacking := [name for name in wanted if name not in schema.names]:
        raise TraceError(f"the Parquet file has no column {', '.join(lacking)}")
    more = [name for name in ("fua", "response_ns") if name in schema.names]
    for name in (*wanted, *more):
        if (kind := str(schema.field(name).type)) not in _types(name):
            raise TraceError(f"its column {name} has {kind}, and no whole numbers")
    found.answers, number = "response_ns" in more, 0
    try:
        for batch in file.iter_batches(columns=[*wanted, *more]):
            told = {name: batch.column(name).to_pylist() for name in (*wanted, *more)}
            nothing = [None] * len(batch)
            columns = (told.get(n, nothing) for n in (*wanted, "fua", "response_ns"))
            for row in zip(*columns, strict=True):
                number += 1
                yield checked(_parquet_row(*row))
    except TraceError as error:
        raise TraceError(f"row {number}: {error}") from None
    except (IndexError, ValueError) as error:  # broken pages
        raise TraceError(f"no whole Parquet file: {error}") from None


def _types(name: str) -> tuple[str, ...]:
    """What the columns of that name may have."""
    whole = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    others = {"kind": ("string", "large_string"), "fua": ("bool",)}
    return (*whole, *others.get(name, ()))


def _parquet_row(
    at_ns: int, kind: int | str, offset: int, size: int, fua: int | None, took: int
) -> Row:
    known = KINDS.get(kind) if isinstance(kind, str) else kind
    if known is None or known not in KINDS.values():
        raise TraceError(f"{kind!r} is no kind of I/O")
    if None in (at_ns, offset, size) or min(at_ns, offset, size, took or 0) < 0:
        raise TraceError(f"no numbers from 0 on: {at_ns}, {offset}, {size}")
    answer_ns = NO_RESPONSE if took is None else took
    return Row(at_ns, known, offset, size, "", FUA * bool(fua), answer_ns)
