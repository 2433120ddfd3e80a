"""What of a run has figures of its own: each direction of each stream."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from ioplan.language.quantity import make
from ioplan.records.record import DirectionResult, PhaseResult, RunRecord
from ioplan.workload import COUNTED, Direction, Stream


class Scope(NamedTuple):
    """One direction of one stream."""

    stream: str
    direction: Direction


def results_of(record: RunRecord | PhaseResult) -> dict[Scope, DirectionResult]:
    """What each direction of each stream did, in the order of the plan."""
    return {
        Scope(stream.name, direction): stream.directions[direction]
        for stream in record.streams
        for direction in COUNTED
        if direction in stream.directions
    }


def scopes_of(records: Iterable[RunRecord]) -> list[Scope]:
    """The scopes of several runs of one cell, each once."""
    return list(dict.fromkeys(chain(*map(results_of, records))))


def part_texts(records: Iterable[RunRecord]) -> dict[str, str]:
    """For streams that had a part of the run only, when: ` (2s to 6s)`."""
    streams = (stream for record in records for stream in record.asked.job.streams)
    parts = {stream.name: _part(stream) for stream in streams}
    return {name: text for name, text in parts.items() if text}


def _part(stream: Stream) -> str:
    if not stream.starts_ns and stream.ends_ns is None:
        return ""
    begin = make("time", stream.starts_ns).text if stream.starts_ns else "0s"
    end = make("time", stream.ends_ns).text if stream.ends_ns else "the end"
    return f" ({begin} to {end})"


def labels_of(scopes: Iterable[Scope]) -> list[str]:
    """`data write`; of a single stream `write`."""
    pairs = list(scopes)
    several = len({stream for stream, _ in pairs}) > 1
    return [f"{stream} {d}" if several else d for stream, d in pairs]


def on_target(record: RunRecord, name: str) -> RunRecord:
    """A run with several targets, as one of them had it."""
    part = record.targets[name]
    change = {
        "streams": part.streams,
        "directions": part.directions,
        "total": part.total,
        "target": record.target.get("members", {}).get(name, {}),
        "targets": {},
    }
    return record.model_copy(update=change)
