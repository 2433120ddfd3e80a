"""Emits a plan for fio again, and compares it with the job file that it came from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ioplan.backends import TargetFacts
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.source import Source
from ioplan.planner.jobs import run_job
from ioplan.planner.steps import Run
from ioplan.planner.unfold import unfold
from ioplan_fio.jobfile import job_file
from ioplan_fio.settings import Settings
from ioplan_importer.findings import Findings
from ioplan_importer.fio.job_file import JobFileReader
from ioplan_importer.fio.jobs import FioJob, jobs_of
from ioplan_importer.fio.lost import LOST
from ioplan_importer.fio.translate import imported_groups
from ioplan_importer.proof.effective import effective
from ioplan_importer.proof.traces import trace_of

FACTS = TargetFacts(
    path="/dev/proof", kind="block", capacity_bytes=1 << 40, block_bytes=512
)


class Proof(Struct, frozen=True):
    """One job: how many of its options are equal, which differ, and its I/Os.

    `ios` is how many I/Os fio made alike of both; None where there is no fio to ask.
    What is `left_out` of the plan is left out of that, too.
    """

    job: str
    equal: int
    differing: dict[str, tuple[object, object]]
    ios: int | None
    same_ios: bool = True
    left_out: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the plan asks what the job asks."""
        return not self.differing and self.same_ios and not self.left_out

    def __str__(self) -> str:
        told = f"{self.job}: {self.equal} options equal"
        for name, (before, after) in self.differing.items():
            told += f"; {name} differs: {before} in the job, {after} of the plan"
        if self.left_out:
            told += f"; left out: {', '.join(self.left_out)}"
        if self.ios is not None:
            what = "the same I/Os" if self.same_ios else "other I/Os"
            told += f"; fio makes {what} of both ({self.ios})"
        return told


def prove(
    source: Source, plan: CheckedPlan, variables: Mapping[str, str]
) -> list[Proof]:
    """Each job that was imported against what its stream becomes for fio."""
    sections = JobFileReader(variables, Findings()).read(source)
    groups = imported_groups(sections, Findings())
    runs = [step for step in unfold(plan) if isinstance(step, Run)]
    fio = shutil.which("fio")
    return [
        _proof(imported.job, emitted, fio)
        for group, run in zip(groups, runs, strict=True)
        for imported, emitted in zip(group, _emitted(run), strict=True)
    ]


def _emitted(run: Run) -> Iterator[FioJob]:
    """The run's streams as jobs of fio, read again."""
    text = job_file(run_job(run, FACTS, not run.writes), Settings())
    sections = JobFileReader({}, Findings()).read(Source("of the plan", text))
    yield from jobs_of(sections, Findings())


def _proof(before: FioJob, after: FioJob, fio: str | None) -> Proof:
    one, other = (effective(job, FACTS.capacity_bytes) for job in (before, after))
    names = [*one, *(name for name in other if name not in one)]
    differing = {
        name: (one.get(name), other.get(name))
        for name in names
        if one.get(name) != other.get(name)
    }
    traces = [
        trace_of(fio, job, FACTS.capacity_bytes) if fio else None
        for job in (before, after)
    ]
    known = [trace for trace in traces if trace is not None]
    return Proof(
        job=before.name,
        equal=len(names) - len(differing),
        differing=differing,
        ios=min(map(len, known)) if len(known) == 2 else None,
        same_ios=len(known) < 2 or known[0] == known[1],
        left_out=tuple(name for name in before.options if name in LOST),
    )
