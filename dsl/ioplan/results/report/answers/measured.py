"""What a page can answer by itself: the plain loads of all its sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioplan.language.metric import Metric
from ioplan.language.quantity import size_text
from ioplan.results.report.answers.load import Measured
from ioplan.results.report.answers.loads import loads_of
from ioplan.results.report.answers.question import parse_question
from ioplan.results.report.headlines.doubts import Doubts
from ioplan.results.report.points import Point
from ioplan.results.report.reader import Reader

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
