"""The series of each run: of its logs, or of documents (--status-interval)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ioplan.job import SECOND_NS
from ioplan.planner.steps import Run
from ioplan.records.record import Interval
from ioplan.results.measure.tally import CountsBuilder
from ioplan.workload import DIRECTIONS, Direction
from ioplan_fio.model import JobReport, Report
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio_results.asked import Group, groups_of
from ioplan_importer.fio_results.figures import parts_of, run_ns_of, total_of
from ioplan_importer.fio_results.log_file import LogFile
from ioplan_importer.fio_results.log_series import series_of_logs


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
        mean_ns=(whole.sum_ns - old.sum_ns) / new_ios if new_ios > 0 else None,
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
