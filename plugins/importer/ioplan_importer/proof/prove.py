"""Emits a plan for fio again, and compares it with the job file that it came from."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ioplan.backends import TargetFacts
from ioplan.language import CheckedPlan, Source
from ioplan.planner import Run, run_job, unfold
from ioplan_fio.jobfile import Settings, job_file
from ioplan_importer.findings import Findings
from ioplan_importer.fio.job_file import JobFileReader, Option
from ioplan_importer.fio.jobs import KB_BASE, FioJob, jobs_of
from ioplan_importer.fio.lost import LOST
from ioplan_importer.fio.numbers import whole
from ioplan_importer.fio.shape import shape_of
from ioplan_importer.fio.stream import flushed_otherwise
from ioplan_importer.fio.translate import files_in_fio, imported_groups
from ioplan_importer.proof.effective import effective

# The first I/Os that fio itself makes of a job, without doing any.
#
# The engine `null` takes all I/O, `write_iolog` writes down each with its offset and
# its length, and with one seed two jobs with the same options make the same I/Os.

PLACING = (
    *(KB_BASE, "rw", "rwmixread", "rwmixwrite", "bs", "bsrange", "bssplit", "offset"),
    *("norandommap", "random_distribution", "percentage_random", "blockalign"),
    *("size", "number_ios"),
)
"""The options that decide where I/Os fall; one thread of a job is enough."""
IOS = 1000
LIMIT_S = 60
FORCED = (
    *("ioengine=null", "filename=proof", "randseed=1", f"number_ios={IOS}"),
    *("iodepth=1", "time_based=0"),
)
Trace = list[str]


def trace_of(fio: str, job: FioJob, capacity_bytes: int) -> Trace | None:
    """Lines such as `read 4096 8192`; None where fio does not take the job."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            "[job]",
            *_lines(job, capacity_bytes),
            *FORCED,
            f"filesize={capacity_bytes}",
        ]
        path = Path(folder) / "job.fio"
        path.write_text("\n".join([*lines, "write_iolog=trace"]) + "\n")
        try:
            done = subprocess.run(
                [fio, "--eta=never", path.name],
                cwd=folder,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
            text = (Path(folder) / "trace").read_text()
        except (OSError, subprocess.TimeoutExpired):
            return None
    return _ios(text) if done.returncode == 0 else None


def _lines(job: FioJob, capacity_bytes: int) -> list[str]:
    """The options as they are written; a file's size is what is worked on."""
    options = [job.options[name] for name in PLACING if name in job.options]
    found = [_line(one, capacity_bytes) for one in options]
    if "size" not in job.options and "filesize" in job.options:
        found.append(f"size={job.text('filesize')}")
    return found


def _line(option: Option, capacity_bytes: int) -> str:
    """An option's line; without a device fio knows no shares of one."""
    if option.value is None:
        return option.name
    if option.name in ("offset", "size") and option.value.endswith("%"):
        share = whole(option.value)
        return f"{option.name}={capacity_bytes * share // 100}"
    return f"{option.name}={option.value}"


def _ios(text: str) -> Trace:
    """Without the times, which newer logs have in front."""
    kinds = {"read", "write", "trim"}
    rows = (line.split() for line in text.splitlines())
    return [" ".join(row[-3:]) for row in rows if len(row) >= 4 and row[-3] in kinds]


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
    files = len({n for one in groups for job in one for n in files_in_fio(job)})
    return [
        _proof(imported.job, emitted, fio, files)
        for group, run in zip(groups, runs, strict=True)
        for imported, emitted in zip(group, _emitted(run), strict=True)
    ]


def _emitted(run: Run) -> Iterator[FioJob]:
    """The run's streams as jobs of fio, read again."""
    text = job_file(run_job(run, FACTS, not run.writes), Settings())
    sections = JobFileReader({}, Findings()).read(Source("of the plan", text))
    yield from jobs_of(sections, Findings())


def _proof(before: FioJob, after: FioJob, fio: str | None, files: int) -> Proof:
    one, other = (effective(job, FACTS.capacity_bytes) for job in (before, after))
    names = [*one, *(name for name in other if name not in one)]
    differing = {
        name: (one.get(name), other.get(name))
        for name in names
        if one.get(name) != other.get(name)
    }
    shape = shape_of(before, Findings())
    if shape.read_percent < 100 and not shape.trims:
        for reason in flushed_otherwise(before, shape):
            differing["flushes"] = (reason, f"one after {other['fdatasync']} writes")
    if files > 1:
        differing["files"] = (files, 1)
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
