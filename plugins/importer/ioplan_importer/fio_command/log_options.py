"""Which log files a job of fio asks for, and over how long they average."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob

KINDS = {
    "write_bw_log": ("bw",),
    "write_iops_log": ("iops",),
    "write_lat_log": ("clat", "lat"),
}
UNSAID = ("write_hist_log", "log_max_value", "log_window_value", "log_store_compressed")
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
    if others or not length.isdigit() or not LEAST_MS <= int(length) <= MOST_MS:
        findings.loss(
            f"logs are averages over one log_avg_msec of {LEAST_MS} to {MOST_MS} for "
            f"all jobs; here it is {', '.join(sorted(lengths))}",
            logged[0].place("log_avg_msec", *KINDS),
            "write for example log_avg_msec=1000",
        )
        return 0
    return int(length)
