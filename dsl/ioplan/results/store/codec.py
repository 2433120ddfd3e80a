"""Histograms, series and telemetry as compact bytes.

    byte 0       the version of this layout
    the rest     zlib of: header length (u32), header (JSON), columns

All columns are 8 bytes wide, little-endian and byte-shuffled: first the lowest
byte of every number, then the next one, so that zlib meets long runs of equal
high bytes. 2000 bins take about 4 KB.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import isnan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ioplan.records.record import Interval, RunDetail, StoredHistogram
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.histogram import Histogram
from ioplan.workload import DIRECTIONS, Direction

VERSION = 1
MAX_BYTES = 1 << 30
"""Unpacked. A week of one-second intervals takes 77 MB; a bomb takes more."""

Ints: TypeAlias = "npt.NDArray[np.int64]"

FLOATS = ("t_s", "length_s", "mean_ns", "p50_ns", "p99_ns", "p99_9_ns")
INTS = ("errors", "max_ns")
PARTS = ("histograms", "series", "telemetry", "intervals")


class CodecError(ValueError):
    """Bytes that are not of a layout known here."""


def encode_detail(detail: RunDetail) -> dict[str, bytes]:
    """The parts of a detail; telemetry and intervals only where there are any."""
    telemetry = _encode_telemetry(detail.telemetry) if detail.telemetry else b""
    histograms, series = _encode_histograms(detail.histograms), _encode_series(detail)
    packed = (histograms, series, telemetry, detail.intervals)
    return {name: part for name, part in zip(PARTS, packed, strict=True) if part}


def decode_detail(parts: Mapping[str, bytes | None]) -> RunDetail:
    """A detail of its parts, which may come from anywhere; of histograms only where
    they are among these. Raises CodecError."""
    histograms, series, telemetry, intervals = map(parts.get, PARTS)
    try:
        return RunDetail(
            histograms=_decode_histograms(histograms or b"")
            if "histograms" in parts
            else (),
            series=_decode_series(series or b""),
            telemetry=_decode_telemetry(telemetry) if telemetry else (),
            intervals=intervals or b"",
        )
    except CodecError:
        raise
    except (zlib.error, struct.error, ValueError, TypeError, StopIteration) as error:
        raise CodecError(f"the stored detail is damaged: {error}") from error


def _encode_histograms(histograms: Sequence[StoredHistogram]) -> bytes:
    """Bins in any order; numbers below 2^63."""
    header = [[h.stream, h.direction, h.bits, h.phase, len(h.bins)] for h in histograms]
    flat = _ints([number for h in histograms for number in h.bins])
    index, count = flat[0::2], flat[1::2]
    return _pack(header, [np.diff(index, prepend=0), count])


def _decode_histograms(blob: bytes) -> tuple[StoredHistogram, ...]:
    """Their bins stay arrays."""
    header, (steps, count) = _unpack(blob)
    index = steps.cumsum()
    edges = pairwise(accumulate((size // 2 for *_, size in header), initial=0))
    histograms = []
    for own, (start, end) in zip(header, edges, strict=True):
        stream, direction, bits, *phase, _ = own  # stores of layout 5 have no phase
        place = {"stream": stream, "direction": direction, "phase": "".join(phase)}
        empty = StoredHistogram(**place, bits=bits, bins=())
        checked = Histogram.checked(index[start:end], count[start:end], bits)
        histograms.append(empty.model_copy(update={"bins": checked.bins()}))
    return tuple(histograms)


def _encode_series(detail: RunDetail) -> bytes:
    """Finite figures; an absent one becomes NaN."""
    series = detail.series
    columns = [_floats([getattr(p, name) for p in series]) for name in FLOATS]
    columns += [_ints([getattr(p, name) for p in series]) for name in INTS]
    ios = _map_columns([point.ios for point in series])
    moved = _map_columns([point.bytes for point in series])
    # the size of an I/O in the first point; 0 when there was none
    sizes = [
        int(m[0] // n[0]) if len(n) and n[0] else 0
        for n, m in zip(ios, moved, strict=True)
    ]
    # bytes follow from I/Os, but for mixed sizes: what is left is mostly zeros
    excess = [m - n * size for n, m, size in zip(ios, moved, sizes, strict=True)]
    return _pack(sizes, [*columns, *ios, *excess])


def _decode_series(blob: bytes) -> tuple[Interval, ...]:
    sizes, rows = _unpack(blob)
    columns = iter(rows)
    fields: dict[str, list[Any]] = {name: _absent(next(columns)) for name in FLOATS}
    fields |= {name: next(columns).tolist() for name in INTS}
    ios, excess = ([next(columns) for _ in sizes] for _ in range(2))
    moved = [m + n * size for n, m, size in zip(ios, excess, sizes, strict=True)]
    fields |= {"ios": _maps(ios), "bytes": _maps(moved)}
    points = zip(*fields.values(), strict=True)
    return tuple(Interval(**dict(zip(fields, p, strict=True))) for p in points)


def _encode_telemetry(points: Sequence[TelemetryPoint]) -> bytes:
    """Finite figures; a column that is absent everywhere is left out."""
    names = [
        name
        for name in TelemetryPoint.model_fields
        if not points or any(getattr(p, name) is not None for p in points)
    ]
    return _pack(names, [_floats([getattr(p, n) for p in points]) for n in names])


def _decode_telemetry(blob: bytes) -> tuple[TelemetryPoint, ...]:
    names, columns = _unpack(blob)
    rows = zip(*map(_absent, columns), strict=True)
    return tuple(TelemetryPoint(**dict(zip(names, r, strict=True))) for r in rows)


def _ints(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype="<i8")


def _floats(numbers: Sequence[float | None]) -> Ints:
    """The bits of the numbers; None becomes NaN."""
    return np.array(numbers, dtype="<f8").view("<i8")


def _absent(bits: Ints) -> list[float | None]:
    """The numbers of these bits; NaN becomes None."""
    return [None if isnan(n) else n for n in bits.view("<f8").tolist()]


def _map_columns(maps: Sequence[Mapping[Direction, int]]) -> list[Ints]:
    """Which directions are there (a bit each), then a column for each one."""
    masks = [sum((d in by) << bit for bit, d in enumerate(DIRECTIONS)) for by in maps]
    return [_ints(masks), *(_ints([by.get(d, 0) for by in maps]) for d in DIRECTIONS)]


def _maps(columns: Sequence[Ints]) -> list[dict[Direction, int]]:
    masks, *values = (column.tolist() for column in columns)
    return [
        {d: row[bit] for bit, d in enumerate(DIRECTIONS) if mask >> bit & 1}
        for mask, row in zip(masks, zip(*values, strict=True), strict=True)
    ]


def _pack(header: Any, columns: Sequence[Ints]) -> bytes:
    head = json.dumps(header, separators=(",", ":")).encode()
    table = np.array(columns, dtype="<i8")
    shape = (*table.shape, 8)
    shuffled = table.view(np.uint8).reshape(shape).transpose(0, 2, 1)
    counts = struct.pack("<III", len(head), *table.shape)
    return bytes([VERSION]) + zlib.compress(counts + head + shuffled.tobytes())


def _unpack(blob: bytes) -> tuple[Any, Ints]:
    """The header, and the columns as the rows of an array."""
    if blob[:1] != bytes([VERSION]):
        raise CodecError(
            f"the stored detail has layout {blob[0] if blob else 'none'}, and this "
            f"ioplan reads {VERSION}; read it with the ioplan that wrote it, or newer"
        )
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(blob[1:], MAX_BYTES)
    if not unpacker.eof:
        raise ValueError(f"it is cut off, or has more than {MAX_BYTES >> 20} MiB")
    head_bytes, columns, rows = struct.unpack_from("<III", raw)
    end = struct.calcsize("<III") + head_bytes
    header = json.loads(raw[end - head_bytes : end])
    shuffled = np.frombuffer(raw, dtype=np.uint8, offset=end)
    table = shuffled.reshape(columns, 8, rows).transpose(0, 2, 1)
    return header, np.ascontiguousarray(table).view("<i8").reshape(columns, rows)
