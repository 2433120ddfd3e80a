"""fio's output, split into its JSON documents and what is written around them.

With --status-interval fio prints one document after another, each on its own lines
from `{` to `}`, and messages before, between and after. Of the model of kept results
it is required to have all that a run needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ioplan.backends import Direction
from ioplan_fio.differences import depth_of

# fio's JSON from 3.1 on: what is needed of it; other fields may come and go.
#
# Results that somebody has kept are read with it as it is; of the fio that runs here
# more is required, see `ioplan_fio.document`.

ONLY_WRITES = ("write", "randwrite")


class Part(BaseModel):
    """A part of the document."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


Count = Annotated[int, Field(ge=0, le=1 << 62)]
Number = Annotated[float, Field(ge=0, le=2.0**62, allow_inf_nan=False)]
MOST_IOS = 1 << 53
LAYOUT = "FIO_IO_U_PLAT_"
MOST_S = 253_402_300_799
"""The last second that has a date, of the year 9999."""


class Latency(Part):
    """One of fio's latency figures. `bins` are counts by the bucket's middle in ns."""

    min_ns: Annotated[Count, Field(alias="min")]
    max_ns: Annotated[Count, Field(alias="max")]
    mean_ns: Annotated[Number, Field(alias="mean")]
    stddev_ns: Annotated[Number, Field(alias="stddev")]
    count: Annotated[Count | None, Field(alias="N")] = None
    percentile: dict[str, Number] = {}
    bins: dict[int, Count] = {}

    @property
    def is_measured(self) -> bool:
        """Whether fio measured it: with gtod_reduce and its like all are zeros."""
        return self.max_ns > 0 if self.count is None else self.count > 0

    @field_validator("bins", mode="before")
    @classmethod
    def _counts(cls, bins: Any) -> Any:
        """Before 3.6 the layout's constants stood among the buckets."""
        if not isinstance(bins, dict):
            return bins
        return {n: count for n, count in bins.items() if not str(n).startswith(LAYOUT)}

    @field_validator("bins")
    @classmethod
    def _countable(cls, bins: dict[int, int]) -> dict[int, int]:
        if sum(bins.values()) > MOST_IOS:
            raise ValueError("no test has so many I/Os")
        return bins

    @field_validator("percentile", mode="before")
    @classmethod
    def _percents(cls, found: Any) -> Any:
        """Where there are none, 3.1 writes zeros in their place."""
        if not isinstance(found, dict):
            return found
        return {key: value for key, value in found.items() if 0 < float(key) <= 100}


RATE_SLACK = 0.02
"""What fio rounds, in a short run."""


class DirectionReport(Part):
    """What one direction of one job did."""

    io_bytes: Count
    total_ios: Count
    runtime_ms: Annotated[Count, Field(alias="runtime")] = 0
    iops: Number = 0.0
    bandwidth_bytes_per_s: Annotated[Number, Field(alias="bw_bytes")] = 0.0
    lat: Annotated[Latency | None, Field(alias="lat_ns")] = None
    clat: Annotated[Latency | None, Field(alias="clat_ns")] = None

    @property
    def contradiction(self) -> str:
        """Where a rate is not that of a count and the time; empty where none is."""
        rates = (
            (self.iops, self.total_ios, "IOPS"),
            (self.bandwidth_bytes_per_s, self.io_bytes, "B/s"),
        )
        for rate, count, unit in rates:
            true_rate = 1000 * count / self.runtime_ms if self.runtime_ms else 0.0
            if rate and abs(rate - true_rate) > RATE_SLACK * true_rate + 1:
                return f"{rate:.0f} {unit}, and its counts and time say {true_rate:.0f}"
        return ""


class JobReport(Part):
    """One job, or with group_reporting all of a group."""

    name: Annotated[str, Field(alias="jobname")]
    groupid: int = 0
    error: int = 0
    total_err: Count = 0
    options: Annotated[dict[str, Any], Field(alias="job options")] = {}
    runtime_ms: Annotated[Count, Field(alias="job_runtime")] = 0
    user_percent: Annotated[Number, Field(alias="usr_cpu")] = 0.0
    system_percent: Annotated[Number, Field(alias="sys_cpu")] = 0.0
    read: DirectionReport
    write: DirectionReport
    trim: DirectionReport
    verified: bool = False
    """Whether the reads that verify what it wrote are left out of its figures."""

    def part(self, direction: Direction) -> DirectionReport:
        """One direction."""
        return {"read": self.read, "write": self.write, "trim": self.trim}[direction]

    @property
    def run_ms(self) -> int:
        """How long it did I/O; of a group `job_runtime` is the sum of all threads'."""
        parts = (self.read, self.write, self.trim)
        return max(part.runtime_ms for part in parts) or self.runtime_ms


class Report(Part):
    """A document."""

    version: Annotated[str, Field(alias="fio version")]
    timestamp_s: Annotated[int, Field(alias="timestamp", ge=0, le=MOST_S)] = 0
    timestamp_ms: Annotated[int, Field(ge=0, le=MOST_S * 1000)] = 0
    options: Annotated[dict[str, Any], Field(alias="global options")] = {}
    jobs: tuple[JobReport, ...]

    @property
    def ended_ms(self) -> int:
        """When fio wrote it: of an old fio, in whole seconds."""
        return self.timestamp_ms or self.timestamp_s * 1000

    def leave_out_verification(self) -> None:
        """Drop what jobs that only write have read: fio verifies what they wrote."""
        for job in self.jobs:
            options = {**self.options, **job.options}
            pattern = str(options.get("rw") or options.get("readwrite") or "read")
            if pattern.partition(":")[0] in ONLY_WRITES and job.read.total_ios:
                job.read = DirectionReport(io_bytes=0, total_ios=0)
                job.verified = True

    def round_depths(self) -> None:
        """Write the queue depths that this fio's engine had for those it was told."""
        numbers = tuple(map(int, re.findall(r"\d+", self.version)[:2]))
        for job in self.jobs:
            options = {**self.options, **job.options}
            depth = str(options.get("iodepth", ""))
            if depth.isdecimal() and int(depth):
                real = depth_of(str(options.get("ioengine", "")), int(depth), numbers)
                if real != int(depth):
                    job.options["iodepth"] = str(real)


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
