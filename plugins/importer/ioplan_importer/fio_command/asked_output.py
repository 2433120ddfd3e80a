"""What a job of fio asks to be told: percentiles, and which log files over how long."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.numbers import NumberFault

KINDS = {
    "write_bw_log": ("bw",),
    "write_iops_log": ("iops",),
    "write_lat_log": ("clat", "lat"),
}
UNSAID = ("write_hist_log", "log_max_value", "log_window_value", "log_store_compressed")
PERCENTILES: tuple[float, ...] = (
    *(1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99),
)
MOST_PERCENTS = 20
"""`FIO_IO_U_LIST_MAX_LEN` of fio's stat.h."""
PERCENT = re.compile(r"100(\.0*)?|\d{1,2}(\.\d*)?", re.ASCII)
LEAST_MS, MOST_MS = 10, 3_600_000
"""What an interval of a run may have."""


def log_interval_ms(jobs: Sequence[FioJob], findings: Findings) -> int:
    """How long the intervals of all logs are; 0 without logs.

    What cannot be logged is a loss.
    """
    logged = [one for one in jobs if any(map(one.has, (*KINDS, *UNSAID)))]
    for one in logged:
        for name in filter(one.has, UNSAID):
            findings.loss(f"{name} is not done: no such log", one.place(name))
    lengths = {one.text("log_avg_msec", "0") for one in logged}
    if not logged:
        return 0
    (length, *others) = lengths
    if (
        others
        or not re.fullmatch("[0-9]{1,9}", length)
        or not LEAST_MS <= int(length) <= MOST_MS
    ):
        findings.loss(
            f"logs are averages over one log_avg_msec of {LEAST_MS} to {MOST_MS} for "
            f"all jobs; here it is {', '.join(sorted(lengths))}",
            logged[0].place("log_avg_msec", *KINDS),
            "write for example log_avg_msec=1000",
        )
        return 0
    return int(length)


def asked_percents(text: str) -> tuple[float, ...]:
    """A `percentile_list`, in order of size as fio tells it; without one, fio's own.

    Raises NumberFault.
    """
    words = [word.strip() for word in text.split(":") if word.strip()]
    if wrong := next((one for one in words if not PERCENT.fullmatch(one)), ""):
        raise NumberFault(f"{wrong[:40]!r} is no percentage from 0 to 100")
    return tuple(sorted(set(map(float, words)))[:MOST_PERCENTS]) or PERCENTILES
