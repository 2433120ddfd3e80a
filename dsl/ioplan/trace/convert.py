"""Any trace to a trace file: told by its content, sorted by time, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from ioplan.trace import binaries, prepared
from ioplan.trace.facts import TraceError
from ioplan.trace.pairs import Done, paired
from ioplan.trace.prepared import ANSWERED, Header, Ios, Prepared
from ioplan.trace.rows import CHUNK, Found, Row, chunks
from ioplan.trace.texts import FORMATS, text_rows

LOOKED_AT = 4096
Rows = Callable[[Path, Found], Iterator[Row | Done]]


class Source(Struct, frozen=True):
    """The format of a file, and its I/Os; a trace file is one already."""

    name: str
    rows: Rows | None = None


OURS = Source("ioplan trace")
BEGINS: tuple[tuple[bytes, Source], ...] = (
    (prepared.MAGIC, OURS),
    (binaries.BLKTRACE_MAGIC, Source("blktrace", binaries.blktrace)),
    (b"PAR1", Source("Parquet", binaries.parquet)),
)
PACKED = (
    (b"\x1f\x8b", "packed by gzip"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"\xfd7zXZ", "packed by xz"),
    (b"BZh", "packed by bzip2"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
)
KNOWN = (*(one.name for _, one in BEGINS), "vscsi", *(one.name for one in FORMATS))


def source_of(path: Path) -> Source:
    """What a file holds, by its content. Raises TraceError, OSError."""
    with path.open("rb") as file:
        start = file.read(LOOKED_AT)
    if not start:
        raise TraceError("the file is empty")
    for begin, source in BEGINS:
        if start.startswith(begin):
            return source
    if binaries.vscsi_layout(start):
        return Source("vscsi", binaries.vscsi)
    for begin, packed in PACKED:
        if start.startswith(begin):
            raise TraceError(f"it is {packed}; unpack it before")
    lines = start.decode("utf-8-sig", "replace").splitlines()
    for line in filter(None, map(str.strip, lines)):
        for one in FORMATS:
            if one.begins_with(line):
                return Source(one.name, partial(text_rows, one))
        if not line.startswith("#"):
            break
    raise TraceError(f"no known trace; these are: {', '.join(KNOWN)}")


def convert(path: Path, out: Path, volume: str | None = None) -> tuple[Header, Found]:
    """Write a trace as a trace file; what there was besides its I/Os.

    Raises TraceError for what is broken, for several devices of which none is named,
    and OSError.
    """
    source, found = source_of(path), Found()
    if source.rows is None:
        raise TraceError("it is a trace file of ioplan already")
    part = out.with_name(f".{out.name}.part")
    try:
        rows = source.rows(path, found)
        prepared.write(part, _checked(chunks(paired(rows, found), found, volume)))
        _check_volumes(found, volume)
        header = _sorted(part, out, found)
    finally:
        part.unlink(missing_ok=True)
    return header, found


def _checked(parts: Iterator[Ios]) -> Iterator[Ios]:
    empty = True
    for part in parts:
        empty = False
        yield part
    if empty:
        raise TraceError("there is no I/O in it")


def _check_volumes(found: Found, volume: str | None) -> None:
    if volume is None and len(found.volumes) > 1:
        most = ", ".join(f"{name} ({n})" for name, n in found.volumes.most_common(5))
        raise TraceError(
            f"it has I/Os of {len(found.volumes)} devices; name one with --volume: "
            f"{most}"
        )


def _sorted(part: Path, out: Path, found: Found) -> Header:
    """By time, where it is not; times count from the earliest."""
    if not found.backwards:
        part.replace(out)
        return Prepared.open(out).header
    ios = Prepared.open(part).ios
    times = ios["time_ns"].astype(np.int64)  # those before the first are below 0
    order = np.argsort(times, kind="stable")
    return prepared.write(out, _moved(ios, order, int(times.min())))


def joined(parts: Sequence[Path], out: Path) -> Header:
    """Records of several threads, without a header, as one trace in order of time.

    Raises TraceError where there is none, and OSError.
    """
    whole, found = out.with_name(f".{out.name}.part"), Found()

    def records() -> Iterator[Ios]:
        for path in parts:
            with path.open("rb") as file:
                while len(some := np.fromfile(file, ANSWERED, CHUNK)):
                    yield some

    try:
        prepared.write(whole, _checked(records()))
        found.backwards = 1  # each thread begins at the run's start, and not at 0
        return _sorted(whole, out, found)
    finally:
        whole.unlink(missing_ok=True)


def _moved(ios: Ios, order: np.ndarray, first_ns: int) -> Iterator[Ios]:
    for start in range(0, len(order), CHUNK):
        some = ios[order[start : start + CHUNK]].copy()
        some["time_ns"] = (some["time_ns"].astype(np.int64) - first_ns).astype("u8")
        yield some


def cut(trace: Prepared, from_ns: int, to_ns: int, out: Path) -> Header:
    """The part of a trace from one time to another, which then begins at 0.

    Raises TraceError where nothing is in it, and OSError.
    """
    count = trace.header.count
    first, last = prepared.numbers_at(trace.path, count, (from_ns, to_ns))
    if first >= last:
        raise TraceError("there is no I/O in this part of it")
    begin_ns = trace.ios["time_ns"][first]

    def parts() -> Iterator[Ios]:
        for start in range(first, last, CHUNK):
            some = trace.ios[start : min(start + CHUNK, last)].copy()
            some["time_ns"] -= begin_ns
            yield some

    return prepared.write(out, parts())
