"""What a page can answer by itself: the plain loads of all its sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ioplan.language.metric import Metric
from ioplan.language.quantity import size_text
from ioplan.records.record import RunRecord
from ioplan.results.report.answers.load import Load, Measured, Sizes
from ioplan.results.report.answers.question import parse_question
from ioplan.results.report.headlines.doubts import Doubts
from ioplan.results.report.headlines.figures import Figures, Value
from ioplan.results.report.points import Point, points
from ioplan.results.report.reader import Reader
from ioplan.workload import SizeShare, Stream

# The cells of a session that do what is asked, or nearly: another share or size.

IOPS = Metric(name="iops")
DAY_S = 86_400
FREE = frozenset(
    (
        *("name", "qd", "threads", "rate", "starts_ns", "ends_ns"),
        *("read_percent", "read_sizes", "write_sizes"),
        *("errors_allowed", "errors_allowed_percent", "retries", "hang_ns"),
    )
)
"""In what a cell may differ from a question: the first are its place on a curve."""


def loads(
    stream: Stream,
    metrics: Sequence[Metric],
    records: Sequence[RunRecord],
    reader: Reader,
    known: Doubts,
) -> list[Load]:
    """The loads of one session. Raises StoreError."""
    by_test: dict[str, list[RunRecord]] = {}
    for record in records:
        if record.asked.kind == "run":
            by_test.setdefault(record.asked.test, []).append(record)
    found = (points({"": some}) for some in by_test.values())
    return [
        one for some in found for one in loads_of(stream, metrics, some, reader, known)
    ]


def loads_of(
    stream: Stream,
    metrics: Sequence[Metric],
    found: Sequence[Point],
    reader: Reader,
    known: Doubts,
) -> Iterator[Load]:
    """The loads of one test in one session. Raises StoreError."""
    figures = Figures([one for one in found if one.runs], reader, known)
    for point in figures.points:
        if not point.failed and _fits(point, stream):
            rate = figures.value(IOPS, point)
            each = {str(one): figures.value(one, point).value for one in metrics}
            latencies = {name: ns for name, ns in each.items() if ns is not None}
            if rate.value is not None:
                yield _load(point, reader, latencies, rate, rate.value)


def _fits(point: Point, stream: Stream) -> bool:
    streams = point.runs[-1].asked.workload.streams
    return len(streams) == 1 and _fixed(streams[0]) == _fixed(stream)


def _fixed(stream: Stream) -> dict[str, Any]:
    return stream.model_dump(exclude=set(FREE))


def _load(
    point: Point,
    reader: Reader,
    latencies: Mapping[str, float],
    rate: Value,
    iops: float,
) -> Load:
    (stream,) = point.runs[-1].asked.workload.streams
    return Load(
        read_percent=stream.read_percent,
        sizes=sizes_of(stream),
        depth=stream.qd * stream.threads,
        rate=stream.rate.iops or 0.0 if stream.rate else 0.0,
        iops=iops,
        latencies_ns=latencies,
        error_percent=rate.error_percent,
        burst=rate.burst,
        watts=reader.figure(Metric(name="watts"), point.counted).value,
        drive_writes=_drive_writes(point, iops),
        against=rate.against,
    )


def sizes_of(stream: Stream) -> Sizes:
    """The sizes of a stream's reads, or of its writes where it reads nothing."""
    shares = stream.read_sizes if stream.read_percent else stream.write_sizes
    return tuple((one.size_bytes, one.percent) for one in shares)


def _drive_writes(point: Point, iops: float) -> float | None:
    """How often a day the host writes the drive's capacity at a rate; None of reads."""
    run = point.runs[-1]
    (stream,) = run.asked.workload.streams
    capacity = run.target.get("capacity_bytes")
    written = iops * (1 - stream.read_percent / 100) * _mean(stream.write_sizes)
    return written * DAY_S / capacity if written and capacity else None


def _mean(sizes: Sequence[SizeShare]) -> float:
    return sum(one.size_bytes * one.percent / 100 for one in sizes)


METRICS = ("mean", "p99", "p99.9")
PATTERNS = ("random", "sequential")
MOST = 3000
"""Cells; of more the page answers nothing, and the command does."""


def measured(
    tests: Sequence[Sequence[Point]], reader: Reader, known: Mapping[str, Doubts]
) -> tuple[Measured, ...]:
    """The loads of one block size that nothing but read share and depth tells apart."""
    if sum(map(len, tests)) > MOST:
        return ()
    return tuple(
        one
        for found in tests
        for label in known
        for pattern in PATTERNS
        for one in _of(label, pattern, found, reader, known[label])
    )


def _of(
    label: str, pattern: str, found: Sequence[Point], reader: Reader, known: Doubts
) -> Iterator[Measured]:
    stream = parse_question(f"{pattern} 4KiB 100/0").stream
    metrics = [Metric(name=name) for name in METRICS]
    own = [one for one in found if one.dimensions["session"] == label]
    for load in loads_of(stream, metrics, own, reader, known):
        if load.size_bytes and load.latencies_ns:
            yield Measured(label, pattern, size_text(load.size_bytes), load)
