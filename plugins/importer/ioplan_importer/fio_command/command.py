"""`ioplan fio`: fio's jobs by any backend, with the guard and the store of `run`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ioplan.backends import JoiningBackend, default_backend, find
from ioplan.cli import (
    HELD,
    MOST,
    USAGE,
    RunCall,
    SessionStart,
    UsageError,
    checked_text,
    opened,
    print_message,
    run_session,
)
from ioplan.core import counted, printable_lines
from ioplan.job import SECOND_NS
from ioplan.language import PlanError, Source
from ioplan.planner import summary_of
from ioplan.records import (
    RunDetail,
    RunRecord,
    RunRequest,
    current_records,
    new_session_id,
)
from ioplan.results.measure import CountsBuilder
from ioplan.results.store import Store, default_path
from ioplan.runner import read_lab
from ioplan.runner.guard import OutputError, check_output
from ioplan_importer.findings import ImportFault
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio_command.arguments import PASS, FioCall, call_of
from ioplan_importer.fio_command.as_json import VERSION, fio_json
from ioplan_importer.fio_command.as_text import normal, terse
from ioplan_importer.fio_command.job_plan import KINDS, JobPlan, job_plan
from ioplan_importer.fio_command.results import (
    DIRECTIONS,
    JobFigures,
    Span,
    job_figures,
)

# fio's log files of a job (`write_bw_log` and its like), from the intervals of a run.
#
# A line is `time in ms, value, direction, size, priority`, as fio writes it with
# `log_avg_msec`: KiB/s, IOPS, or the mean latency in ns; size and priority are 0.

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


def _value(counts: CountsBuilder, length_ns: int, kind: str) -> int:
    if kind in ("clat", "lat"):
        return counts.sum_ns // counts.ios
    amount = counts.ios if kind == "iops" else counts.bytes // KIB
    return amount * SECOND_NS // length_ns


FIO_PLAN = Path("fio.ioplan")
BLOCK_BYTES = 4096
"""A file that is made has whole ones."""


def run_fio(
    *,
    words: list[str],
    backend: str | None,
    store: Path | None,
    lab: Path | None,
    allow_overwrite: list[str],
    allow_overwrite_data: list[str],
    lossy: bool,
    pass_through: bool,
) -> int:
    """Do what fio would do; returns fio's exit code, or 2 where nothing is done."""
    if pass_through:
        return _passed(words)
    call = call_of(words)
    if call.version:
        print(VERSION)
        return HELD
    joins = isinstance(
        find(backend or default_backend(read_lab(lab).backend)), JoiningBackend
    )
    plan = _plan(call, lossy, MOST if joins else 1)
    if plan is None or call.parse_only:
        return USAGE if plan is None else HELD
    _check_outputs(call, plan)
    request = RunRequest(
        targets=plan.targets,
        create=_file_to_create(plan),
        backend=backend,
        lab=lab,
        overwrite=tuple(allow_overwrite),
        overwrite_data=tuple(allow_overwrite_data),
        tags=("fio",),
        interval=f"{plan.log_ms}ms" if plan.log_ms else "",
    )
    session, code = _run(plan, request, store or default_path(), call)
    _write(call, plan, session)
    return code


def _file_to_create(plan: JobPlan) -> str | None:
    """The size of the files that fio would make first; None where they are there.

    It is of whole blocks: a 16MiB of fio's has 16,000,000 B, and the jobs stay in it.
    Raises UsageError where only some are there.
    """
    blocks = -(-plan.size_bytes // BLOCK_BYTES)
    there = [name for name in plan.targets if _is_there(name)]
    if blocks and 0 < len(there) < len(plan.targets):
        missing = next(name for name in plan.targets if name not in there)
        raise UsageError(
            f"{there[0]} is there and {missing} is not; remove the first, or make "
            f"the other; nothing was run"
        )
    return f"{blocks * BLOCK_BYTES}B" if blocks and not there else None


def _is_there(target: str) -> bool:
    with suppress(OSError):  # a name that is too long
        return target.startswith("/dev/") or Path(target).exists()
    return False


def _passed(words: Sequence[str]) -> int:
    """The call as it is, to fio."""
    program = shutil.which("fio")
    if not program:
        raise UsageError("--pass-through needs fio, and none is in PATH")
    return subprocess.run([program, *words], check=False).returncode


def _plan(call: FioCall, lossy: bool, most_targets: int) -> JobPlan | None:
    """None where the plan would not say all; what it does not is told."""
    try:
        plan = job_plan(call, most_targets)
    except ImportFault as fault:
        told = [*fault.found, fault.diagnostic]
        print_message("\n\n".join(one.render() for one in told) + f"\n\n{PASS}")
        return None
    for one in plan.losses:
        print_message(one.render() + "\n")
    if not plan.losses or (lossy and all(o.severity != "error" for o in plan.losses)):
        return plan
    print_message(
        f"{counted(len(plan.losses), 'thing')} would not be done as fio does; nothing "
        f"was run: --lossy runs what is only said otherwise, {PASS}"
    )
    return None


Runs = dict[str, tuple[RunRecord, RunDetail]]


def _run(
    plan: JobPlan, request: RunRequest, path: Path, call: FioCall
) -> tuple[Runs, int]:
    """The runs by the titles of their tests, and the exit code."""
    source = Source(str(FIO_PLAN), plan.text)
    asked = RunCall(request=request, plan=FIO_PLAN, store=path, quiet=True)
    try:
        checked = checked_text(source, FIO_PLAN, (), "full", request.lab, library=False)
    except PlanError as error:
        raise UsageError(f"the jobs make no plan; {PASS}:\n{error}") from None
    if call.readonly and summary_of(checked).writes:
        raise UsageError("a job writes, and --readonly forbids it; nothing was run")
    start = SessionStart(new_session_id())
    with Store.open(path) as store:
        code = run_session(checked, asked, store, start)
        records = current_records(list(store.records(start.id)))
        if sys.stderr.isatty():  # programs take a word there for a failure of fio
            print_message(f"session {start.id}: ioplan show {start.id}")
        return {
            one.asked.test: (one, store.whole_detail(start.id, one.seq))
            for one in records
            if one.asked.kind == "run"
        }, code


def _check_outputs(call: FioCall, plan: JobPlan) -> None:
    """Before the run, not after it: what cannot be written. Raises UsageError."""
    logs = [path for *_, path in log_paths([one.job for one in plan.places])]
    for path in ([call.output] if call.output else []) + logs:
        try:
            check_output(path)
        except OutputError as error:
            raise OutputError(f"{error}; nothing was run") from error


def _write(call: FioCall, plan: JobPlan, runs: Runs) -> None:
    """All formats, one behind the other, as fio writes them."""
    jobs = [*job_figures(plan.places, runs)]
    text = "".join(_formatted(name, jobs, plan) for name in call.formats)
    with opened(call.output, force=True) as out:
        out.write(text.encode())
    for path, log in log_files(jobs):
        with opened(path, force=True) as out:  # as fio does
            out.write(log.encode())


def _formatted(name: str, jobs: list[JobFigures], plan: JobPlan) -> str:
    if name.startswith("json"):
        return fio_json(jobs, plan.common, bins=name == "json+")
    return printable_lines(terse(jobs) if name == "terse" else normal(jobs))
