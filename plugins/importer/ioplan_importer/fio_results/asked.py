"""The plan that fio's options ask for: runs of it are what was measured."""

from __future__ import annotations

from itertools import groupby

from msgspec import Struct

from ioplan.language.syntax.source import Source, Span
from ioplan.planner.steps import Run
from ioplan.planner.unfold import unfold
from ioplan_fio.model import JobReport, Report
from ioplan_importer.findings import ImportFault
from ioplan_importer.fio.numbers import NumberFault, time_us
from ioplan_importer.plan_import import ImportedPlan, import_plan

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
        made = import_plan(given, "fio", {})
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
