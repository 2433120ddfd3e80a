"""fio's log files of a job (`write_bw_log` and its like), from the intervals of a run.

A line is `time in ms, value, direction, size, priority`, as fio writes it with
`log_avg_msec`: KiB/s, IOPS, or the mean latency in ns; size and priority are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ioplan.job import SECOND_NS, Counts
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio_command.asked_output import KINDS
from ioplan_importer.fio_command.results import DIRECTIONS, JobFigures, Span

KIB, MS_NS = 1024, 1_000_000


def log_files(jobs: Sequence[JobFigures]) -> Iterator[tuple[Path, str]]:
    """All logs that the jobs ask for, each with its content."""
    for at, kind, path in log_paths([one.place.job for one in jobs]):
        yield path, _text(jobs[at], kind)


def log_paths(jobs: Iterable[FioJob]) -> Iterator[tuple[int, str, Path]]:
    """All logs that jobs ask for: which job, what is logged, and the file."""
    number = 1
    for at, job in enumerate(jobs):
        for option, kinds in KINDS.items():
            if job.has(option):
                for kind in kinds:
                    yield at, kind, _path(job, option, kind, number)
        number += job.at_least_1("numjobs")


def _path(job: FioJob, option: str, kind: str, number: int) -> Path:
    """As fio names it: the number is that of the job's first thread."""
    numbered = f".{number}" if job.text("per_job_logs", "1") != "0" else ""
    return Path(f"{job.text(option) or job.name}_{kind}{numbered}.log")


def _text(one: JobFigures, kind: str) -> str:
    return "".join(
        f"{span.end_ns // MS_NS}, {value}, {DIRECTIONS.index(direction)}, 0, 0\n"
        for span in one.spans
        for direction, value in _values(span, kind)
    )


def _values(span: Span, kind: str) -> Iterator[tuple[str, int]]:
    for direction in DIRECTIONS:
        counts = span.counts.get(direction)
        if counts and counts.ios:
            yield direction, _value(counts, span.length_ns, kind)


def _value(counts: Counts, length_ns: int, kind: str) -> int:
    if kind in ("clat", "lat"):
        return counts.sum_ns // counts.ios
    amount = counts.ios if kind == "iops" else counts.bytes // KIB
    return amount * SECOND_NS // length_ns
