"""A log of fio: what it logs, which thread wrote it, and its rows.

A row is time in ms, value, direction (0, 1, 2), block size in bytes; of `clat_hist` it
is time, direction, block size, and then a count for each of fio's buckets. A thread's
time begins with the measured part of its job.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import PurePath

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from ioplan.language import Source, Span
from ioplan_importer.findings import ImportFault

NAME = re.compile(r"_(lat|clat|slat|bw|iops|clat_hist)(?:\.(\d+))?\.log$")
HISTOGRAM = "clat_hist"
GROUPS, IN_GROUP = 29, 64
"""fio's buckets in ns (stat.h: FIO_IO_U_PLAT_GROUP_NR and FIO_IO_U_PLAT_VAL)."""
COLUMNS, BEFORE_BUCKETS = 4, 3
EPOCH_MS = 10**11
"""No run goes on for three years: such a time is one since 1970."""

Rows = npt.NDArray[np.int64]


class LogFile(Struct, frozen=True):
    """One log; `thread` counts those of a job file from 1, None is all of them."""

    source: Source
    kind: str
    thread: int | None
    rows: Rows

    @property
    def span(self) -> Span:
        """The beginning, to point at."""
        return Span(self.source, 0, max(1, self.source.text.find("\n")))


def whole_windows(logs: Sequence[LogFile], step_ms: int) -> list[LogFile]:
    """Without the last interval where not every thread has logged it.

    fio does so at the end of an interval, and drops the one that its job ends in.
    """
    ends = {window_of(int(log.rows[-1, 0]), step_ms) for log in logs if len(log.rows)}
    if len(ends) < 2:
        return list(logs)
    limit_ms = (max(ends) + 0.5) * step_ms
    return [replace(log, rows=log.rows[log.rows[:, 0] < limit_ms]) for log in logs]


def window_of(at_ms: int, step_ms: int) -> int:
    """The number of the interval that a row ends, from 0 on."""
    return max(0, round(at_ms / step_ms) - 1)


def is_log(name: str) -> bool:
    """Whether a file is called as fio calls its logs."""
    return bool(NAME.search(PurePath(name).name))


def log_of(source: Source) -> LogFile:
    """The log. Raises ImportFault at the line that is none of a log."""
    found = NAME.search(PurePath(source.name).name)
    assert found
    kind, thread = found[1], int(found[2]) if found[2] else None
    columns = BEFORE_BUCKETS + GROUPS * IN_GROUP if kind == HISTOGRAM else COLUMNS
    rows = _rows(source, columns)
    log = LogFile(source, kind, thread, rows)
    if len(rows) and rows[:, 0].max() > EPOCH_MS:
        raise ImportFault(
            "its times are since 1970", log.span, "log without log_unix_epoch"
        )
    return log


def _rows(source: Source, columns: int) -> Rows:
    lines = source.text.splitlines()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty log
            return np.loadtxt(
                lines, np.int64, delimiter=",", usecols=range(columns), ndmin=2
            ).reshape(-1, columns)
    except ValueError:
        raise _fault(source, lines, columns) from None


def _fault(source: Source, lines: list[str], columns: int) -> ImportFault:
    at = 0
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")][:columns]
        if len(cells) < columns or not all(cell.isdigit() for cell in cells):
            break
        at += len(line) + 1
    help = "a log of fio has numbers between commas; a cut one ends within a line"
    if columns > COLUMNS:
        help += "; of clat_hist those with log_hist_coarseness=0 can be taken"
    return ImportFault(
        f"this is no row of {columns} numbers", Span(source, at, at + 1), help
    )
