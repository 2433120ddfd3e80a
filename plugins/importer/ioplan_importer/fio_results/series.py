"""The series of each run: of its logs, or of documents (--status-interval)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from msgspec import Struct

from ioplan.job import SECOND_NS
from ioplan.language import Source, Span
from ioplan.planner import Run, unfold
from ioplan.records import Interval
from ioplan.results.measure import CountsBuilder
from ioplan.workload import DIRECTIONS, Direction
from ioplan_fio.document import JobReport, Report
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.numbers import NumberFault, time_us
from ioplan_importer.fio_results.figures import parts_of, run_ns_of, total_of
from ioplan_importer.fio_results.log_file import LogFile
from ioplan_importer.fio_results.log_series import series_of_logs
from ioplan_importer.plan_import import OPTIONS, ImportedPlan, import_plan

# The plan that fio's options ask for: runs of it are what was measured.

NEARLY = 0.95
"""What ran for so much of its `runtime` was ended by it."""
UNTOLD = (
    "fio's JSON leaves out options without a value, such as norandommap: import the "
    "job file along with it"
)
Group = list[list[JobReport]]
"""Jobs of one run: the reports of each, one for each thread."""


class AskedRuns(Struct, frozen=True):
    """The plan, and each group of jobs with the run of the plan that it was."""

    made: ImportedPlan
    runs: tuple[tuple[Group, Run], ...]


def start_form_of(report: Report, source: Source, job_file: Source | None) -> AskedRuns:
    """What was asked, by the options or by the job file itself. Raises ImportFault."""
    groups = groups_of(report)
    given = job_file or Source(
        f"{source.name}, its options", _as_job_file(report, groups)
    )
    try:
        made = import_plan(given, OPTIONS, {})
    except ImportFault as fault:
        raise ImportFault(
            f"its options are no workload: {fault}", Span(source, 0, 1)
        ) from None
    runs = (
        [step for step in unfold(made.plan) if isinstance(step, Run)]
        if made.plan
        else []
    )
    if [len(g) for g in groups] != [len(run.workload.streams) for run in runs]:
        raise ImportFault(
            "not all jobs of it are block I/O that a plan can say",
            Span(source, 0, 1),
            "see what `ioplan import` tells of the job file",
        )
    return AskedRuns(made, tuple(zip(groups, runs, strict=True)))


def groups_of(report: Report) -> list[Group]:
    """Jobs with one group id ran together; equal names are threads of one job."""
    found = []
    for _, jobs in groupby(report.jobs, key=lambda job: job.groupid):
        by_name: dict[str, list[JobReport]] = {}
        for job in jobs:
            by_name.setdefault(job.name, []).append(job)
        found.append(list(by_name.values()))
    return found


def _as_job_file(report: Report, groups: list[Group]) -> str:
    """The options as a job file, with what they leave out as far as it shows."""
    lines = ["[global]", *_lines(report.options)]
    for number, group in enumerate(groups):
        for position, jobs in enumerate(group):
            first = jobs[0]
            lines += [f"[{first.name}]", *_lines(first.options)]
            if number and not position:
                lines.append("stonewall")
            runtime = {**report.options, **first.options}.get("runtime", "")
            if _ran_for(str(runtime), first):
                lines.append("time_based")
            if len(jobs) > 1 and "numjobs" not in {**report.options, **first.options}:
                lines.append(f"numjobs={len(jobs)}")
    return "\n".join(lines) + "\n"


def _lines(options: dict[str, object]) -> list[str]:
    pairs = ((name, str(value)) for name, value in options.items())
    return [f"{name}={value}" if value else name for name, value in pairs]


def _ran_for(runtime: str, job: JobReport) -> bool:
    try:
        return job.run_ms * 1000 >= NEARLY * time_us(runtime, seconds=True) > 0
    except NumberFault:
        return False


def series_by_run(
    reports: list[Report],
    runs: Sequence[tuple[Group, Run]],
    logs: Sequence[LogFile],
    findings: Findings,
) -> list[tuple[Interval, ...]]:
    """For each run, what its logs say, else the documents. Raises ImportFault."""
    own = _logs_by_run([run for _, run in runs], logs)
    return [
        _of_logs(own[number], reports[-1], group, findings)
        if own[number]
        else series_of(reports, number)
        for number, (group, _) in enumerate(runs)
    ]


def _logs_by_run(runs: Sequence[Run], logs: Sequence[LogFile]) -> list[list[LogFile]]:
    """fio counts the threads of a job file from 1, and names each log by its thread."""
    owners = [
        number
        for number, run in enumerate(runs)
        for stream in run.workload.streams
        for _ in range(stream.threads)
    ]
    found: list[list[LogFile]] = [[] for _ in runs]
    for log in logs:
        if log.thread is None and len(runs) > 1:
            raise ImportFault(
                f"the log does not tell which of {len(runs)} runs it is of",
                log.span,
                "log without per_job_logs=0, or one run alone",
            )
        if log.thread is not None and not 0 < log.thread <= len(owners):
            raise ImportFault(
                f"the log is of thread {log.thread}, and the result has {len(owners)}",
                log.span,
                "name the logs of the same run",
            )
        found[owners[(log.thread or 1) - 1]].append(log)
    return found


def _of_logs(
    logs: list[LogFile], report: Report, group: Group, findings: Findings
) -> tuple[Interval, ...]:
    jobs = [job for threads in group for job in threads]
    options = {**report.options, **jobs[0].options}
    counts = _counts(group)
    ios = {d: counts[d].ios for d in DIRECTIONS if counts[d].ios}
    run_s = run_ns_of(jobs) / SECOND_NS
    return series_of_logs(logs, options, ios, run_s, findings)


def series_of(reports: list[Report], group: int) -> tuple[Interval, ...]:
    """What came between two documents; nothing of a file with one.

    Percentiles of an interval are those of a histogram, and so of none here.
    """
    seen: list[list[list[JobReport]]] = []
    for report in reports:
        groups = groups_of(report)
        if group < len(groups):
            seen.append(groups[group])
    times = [0, *(run_ns_of([j for jobs in one for j in jobs]) for one in seen)]
    if len(seen) < 2 or any(after <= before for before, after in pairwise(times)):
        return ()
    before: list[list[JobReport]] = []
    found = []
    for one, (start_ns, end_ns) in zip(seen, pairwise(times), strict=True):
        found.append(_interval(before, one, start_ns, end_ns))
        before = one
    return tuple(found)


def _interval(
    before: list[list[JobReport]],
    after: list[list[JobReport]],
    start_ns: int,
    end_ns: int,
) -> Interval:
    first, last = _counts(before), _counts(after)
    ios = {d: last[d].ios - first[d].ios for d in DIRECTIONS if last[d].ios}
    moved = {d: last[d].bytes - first[d].bytes for d in DIRECTIONS if last[d].ios}
    whole = total_of([parts_of(jobs) for jobs in after]).counts
    old = total_of([parts_of(jobs) for jobs in before]).counts
    new_ios = whole.ios - old.ios
    return Interval(
        t_s=end_ns / SECOND_NS,
        length_s=(end_ns - start_ns) / SECOND_NS,
        ios=ios,
        bytes=moved,
        errors=0,
        mean_ns=(whole.sum_ns - old.sum_ns) / new_ios
        if new_ios > 0 and whole.max_ns
        else None,
        p50_ns=None,
        p99_ns=None,
        p99_9_ns=None,
        max_ns=whole.max_ns if whole.max_ns > old.max_ns else 0,
    )


def _counts(groups: list[list[JobReport]]) -> dict[Direction, CountsBuilder]:
    parts = [parts_of(jobs) for jobs in groups]
    return {
        d: CountsBuilder.merged(one[d].counts for one in parts if d in one)
        for d in DIRECTIONS
    }
