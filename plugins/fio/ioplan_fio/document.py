"""fio's output, split into its JSON documents and what is written around them.

With --status-interval fio prints one document after another, each on its own lines
from `{` to `}`, and messages before, between and after. Of the model of kept results
it is required to have all that a run needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, ValidationError

from ioplan.workload import Direction
from ioplan_fio.model import (
    Count,
    DirectionReport,
    JobReport,
    Latency,
    Number,
    Part,
    Report,
)

MAX_MESSAGES = 4000
"""So many characters of fio's messages are kept, the last ones."""
MOST_CHARS = 32 << 20
"""The most characters of a document and what precedes it; a thread has 100 KiB."""


class LiveLatency(Latency):
    """A latency with the number of its I/Os."""

    count: Annotated[Count, Field(alias="N")]


class LiveDirection(DirectionReport):
    """What one direction of one thread did so far."""

    lat: Annotated[LiveLatency, Field(alias="lat_ns")]
    clat: Annotated[LiveLatency, Field(alias="clat_ns")]


class Flushes(Part):
    """Flushes and their latencies."""

    lat: Annotated[LiveLatency, Field(alias="lat_ns")]


class LiveJob(JobReport):
    """One thread. `runtime_ms` starts again when the warm-up is over."""

    error: int
    runtime_ms: Annotated[Count, Field(alias="job_runtime")]
    user_percent: Annotated[Number, Field(alias="usr_cpu")]
    system_percent: Annotated[Number, Field(alias="sys_cpu")]
    read: LiveDirection
    write: LiveDirection
    trim: LiveDirection
    sync: Flushes

    @property
    def has_begun(self) -> bool:
        """Whether any I/O has come to its end."""
        return any(part.io_bytes for part in self.parts)

    @property
    def has_measured(self) -> bool:
        """Whether any latency has been counted, as none is in a warm-up."""
        return any(part.lat.count for part in self.parts)

    @property
    def parts(self) -> tuple[LiveDirection, ...]:
        """All directions."""
        return self.read, self.write, self.trim

    def part(self, direction: Direction) -> LiveDirection:
        """One direction."""
        parts = {"read": self.read, "write": self.write, "trim": self.trim}
        return parts[direction]


class LiveReport(Report):
    """A document: what all threads did since the start."""

    jobs: tuple[LiveJob, ...]


class GarbledError(Exception):
    """A document that cannot be read; the text says what is wrong with it."""


class Splitter:
    """Takes lines, gives documents. `messages` is what else fio printed."""

    def __init__(self) -> None:
        self.messages = ""
        self.last_document = ""
        self._lines: list[str] = []
        self._chars = 0

    def feed(self, line: str) -> LiveReport | None:
        """A document that ends with this line. Raises GarbledError."""
        self._chars += len(line)
        if self._chars > MOST_CHARS:
            raise GarbledError(f"it printed {MOST_CHARS >> 20} MiB without a result")
        bare = line.rstrip("\r\n")
        if self._lines or bare == "{":
            self._lines.append(line)
            return self._whole() if bare == "}" else None
        self.messages = (self.messages + line)[-MAX_MESSAGES:]
        return None

    def _whole(self) -> LiveReport:
        self.last_document, self._lines = "".join(self._lines), []
        self._chars = 0
        return parse(self.last_document)

    @property
    def is_inside(self) -> bool:
        """Whether a document has begun and not ended."""
        return bool(self._lines)


def parse(text: str) -> LiveReport:
    """A document as it should be. Raises GarbledError."""
    try:
        return LiveReport.model_validate(json.loads(text))
    except ValidationError as error:
        raise GarbledError("; ".join(list(_faults(error))[:3])) from error
    except (ValueError, RecursionError) as error:
        raise GarbledError(f"its JSON is broken: {error}") from error


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        place = ".".join(map(str, fault["loc"]))
        if fault["type"] == "missing":
            yield f"the field {place!r} is missing"
        else:
            yield f"{place!r}: {fault['msg']}"
