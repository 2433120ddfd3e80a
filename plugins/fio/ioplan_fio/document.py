"""fio's output, split into its JSON documents and what is written around them.

With --status-interval fio prints one document after another, each on its own lines
from `{` to `}`, and messages before, between and after. A document is checked for
what is needed of it; fields that nobody needs may come and go with the version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ioplan.workload import Direction

MAX_MESSAGES = 4000
MOST_CHARS = 32 << 20
"""Of one document and what comes before it; a thread has some 100 KiB of bins."""
"""So many characters of fio's messages are kept, the last ones."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Latency(_Part):
    """One of fio's latency figures; `bins` are counts by the bucket's middle."""

    min_ns: Annotated[Count, Field(alias="min")]
    max_ns: Annotated[Count, Field(alias="max")]
    mean_ns: Annotated[Number, Field(alias="mean")]
    stddev_ns: Annotated[Number, Field(alias="stddev")]
    count: Annotated[Count, Field(alias="N")]
    bins: dict[Count, Count] = {}


class DirectionReport(_Part):
    """What one direction of one thread did so far."""

    io_bytes: Count
    total_ios: Count
    lat: Annotated[Latency, Field(alias="lat_ns")]
    clat: Annotated[Latency, Field(alias="clat_ns")]


class Flushes(_Part):
    """Flushes and their latencies."""

    lat: Annotated[Latency, Field(alias="lat_ns")]


class JobReport(_Part):
    """One thread. `runtime_ms` starts again when the warm-up is over."""

    name: Annotated[str, Field(alias="jobname")]
    error: int
    runtime_ms: Annotated[Count, Field(alias="job_runtime")]
    user_percent: Annotated[Number, Field(alias="usr_cpu")]
    system_percent: Annotated[Number, Field(alias="sys_cpu")]
    read: DirectionReport
    write: DirectionReport
    trim: DirectionReport
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
    def parts(self) -> tuple[DirectionReport, ...]:
        """All directions."""
        return self.read, self.write, self.trim

    def part(self, direction: Direction) -> DirectionReport:
        """One direction."""
        return {"read": self.read, "write": self.write, "trim": self.trim}[direction]


class Report(_Part):
    """A document: what all threads did since the start."""

    version: Annotated[str, Field(alias="fio version")]
    jobs: tuple[JobReport, ...]


class GarbledError(Exception):
    """A document that cannot be read; the text says what is wrong with it."""


class Splitter:
    """Takes lines, gives documents. `messages` is what else fio printed."""

    def __init__(self) -> None:
        self.messages = ""
        self.last_document = ""
        self._lines: list[str] = []
        self._chars = 0

    def feed(self, line: str) -> Report | None:
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

    def _whole(self) -> Report:
        self.last_document, self._lines = "".join(self._lines), []
        self._chars = 0
        return parse(self.last_document)

    @property
    def is_inside(self) -> bool:
        """Whether a document has begun and not ended."""
        return bool(self._lines)


def parse(text: str) -> Report:
    """A document as it should be. Raises GarbledError."""
    try:
        return Report.model_validate(json.loads(text))
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
