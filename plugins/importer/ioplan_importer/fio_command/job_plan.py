"""fio's jobs as a plan whose runs and streams are known by their jobs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language import Diagnostic, Source, in_order
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.job_file import JobFileReader, Section
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.numbers import NumberFault, bytes_of
from ioplan_importer.fio.place import own_file
from ioplan_importer.fio.shape import kb_base
from ioplan_importer.fio.translate import ImportedJob, imported_groups, outline_of
from ioplan_importer.fio_command.arguments import FioCall
from ioplan_importer.writer import plan_text, title_of

# What a job of fio asks to be told: percentiles, and which log files over how long.

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


class JobPlace(Struct, frozen=True):
    """A job of fio, and the run and stream that it became; `group` is fio's number."""

    job: FioJob
    group: int
    test: str
    stream: str


class JobPlan(Struct, frozen=True):
    """A plan's text, the jobs in fio's order, and what the plan does not say.

    `size_bytes` is that of the largest job, 0 where none is given; `log_ms` is the
    interval of log files, 0 without any.
    """

    text: str
    places: tuple[JobPlace, ...]
    losses: tuple[Diagnostic, ...]
    targets: tuple[str, ...]
    size_bytes: int
    common: dict[str, str]
    log_ms: int = 0


def job_plan(call: FioCall, most_targets: int) -> JobPlan:
    """The plan of a call, on so many targets; on 1, all jobs share it.

    Raises ImportFault.
    """
    own_files = most_targets > 1
    source, findings = Source(call.name, call.text), Findings()

    def chosen(sections: list[Section]) -> list[Section]:
        found = [one for one in sections if one.is_global or _is_chosen(one, call)]
        if not found:
            there = ", ".join(one.name for one in sections)
            raise ImportFault(
                f"--section names none of the jobs: {there[:80]}", sections[0].span
            )
        return found

    try:
        outline = outline_of(source, os.environ, findings, chosen, own_files)
        if outline.traces:
            raise ImportFault(
                "a log is replayed by a plan, and not in fio's place",
                outline.traces[0].span,
                "ioplan import JOBFILE -o web.ioplan makes one, with its trace",
            )
    except ImportFault as fault:
        fault.found = in_order(findings.found)
        raise
    sections = chosen(JobFileReader(os.environ, Findings()).read(source))
    groups = imported_groups(sections, Findings(), own_files)
    tests = tuple(
        replace(test, title=title_of(f"{number}: {test.title}"))
        for number, test in enumerate(outline.tests)
    )
    text = plan_text(replace(outline, tests=tests), call.name)
    places = [
        JobPlace(one.job, number, test.title, stream.name)
        for number, (group, test) in enumerate(zip(groups, tests, strict=True))
        for one, stream in zip(group, test.streams, strict=True)
    ]
    jobs = [one for group in groups for one in group]
    for one in jobs:
        one.job.read("percentile_list", asked_percents, PERCENTILES, findings)
    targets = _targets(jobs, most_targets, findings)
    log_ms = log_interval_ms([one.job for one in jobs], findings)
    return JobPlan(
        text=text,
        places=tuple(places),
        losses=tuple(in_order(findings.losses)),
        targets=targets,
        size_bytes=max((_size_bytes(one.job) for one in jobs), default=0),
        common=_common(sections),
        log_ms=log_ms,
    )


def _is_chosen(section: Section, call: FioCall) -> bool:
    return not call.sections or section.name in call.sections


def _targets(
    jobs: Sequence[ImportedJob], most: int, findings: Findings
) -> tuple[str, ...]:
    """The targets of all jobs, each once; too many for a run are a loss."""
    names = tuple(
        dict.fromkeys(name or own_file(one.job) for one in jobs for name in one.targets)
    )
    if len(names) > most:
        findings.loss(
            f"the jobs have {len(names)} targets ({', '.join(map(repr, names[:4]))}), "
            f"and a run has at most {most}",
            jobs[-1].job.place("filename", "directory", "numjobs"),
            "give all of them one filename, or run them one by one with --section",
        )
    return names[:most]


def _size_bytes(job: FioJob) -> int:
    """How large fio would make the file."""
    base = kb_base(job, Findings())

    def read(name: str) -> int:
        return job.read(name, lambda text: bytes_of(text, base), 0, Findings())

    return read("offset") + (read("size") or read("filesize"))


def _common(sections: Sequence[Section]) -> dict[str, str]:
    """The options of all jobs, as fio writes them: those with a value."""
    return dict(_given(one for one in sections if one.is_global))


def own_options(job: FioJob) -> dict[str, str]:
    """The options of the job's own section."""
    return {
        name: option.value
        for name, option in job.options.items()
        if name in job.own and option.value
    }


def _given(sections: Iterator[Section]) -> Iterator[tuple[str, str]]:
    for section in sections:
        for option in section.options:
            if option.value:
                yield option.name, option.value
