"""A job file as the outline of a plan: its jobs as streams, its stonewalls as tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language import Source, Span, make
from ioplan.runner import called
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.job_file import JobFileReader, Section
from ioplan_importer.fio.jobs import FioJob, jobs_of, of_no_matter
from ioplan_importer.fio.length import length_of
from ioplan_importer.fio.numbers import time_us
from ioplan_importer.fio.place import (
    check_engine,
    is_buffered,
    own_targets,
    region_of,
    target_of,
    tell_range,
)
from ioplan_importer.fio.replay import replay_clauses, replay_length, trace_of
from ioplan_importer.fio.shape import Refused, shape_of
from ioplan_importer.fio.stream import clauses_of
from ioplan_importer.fio.timed import Timed
from ioplan_importer.outline import (
    Length,
    PlanOutline,
    StreamOutline,
    TestOutline,
    TraceOutline,
)

RESERVED = {"read": "reader", "write": "writer", "trim": "trimmer"}
"""Directions, which no stream can be called."""
SHOWN_FILES = 3


class ImportedJob(Struct, frozen=True):
    """One job as a stream."""

    job: FioJob
    stream: StreamOutline
    length: Length
    delay_ns: int
    targets: tuple[str, ...]
    trace: TraceOutline | None = None


Complete = Callable[[list[Section]], list[Section]]


def outline_of(
    source: Source,
    variables: Mapping[str, str],
    findings: Findings,
    complete: Complete = lambda sections: sections,
    own_files: bool = False,
    tell_files: bool = True,
) -> PlanOutline:
    """The plan that a job file asks for. Raises ImportFault.

    A template is made whole by `complete`. With `own_files`, jobs have the targets that
    they have in fio; without, all share one, which is told if fio makes several files.
    """
    sections = complete(JobFileReader(variables, findings).read(source))
    done = imported_groups(sections, findings, own_files)
    _tell_buffered([one.job for group in done for one in group], findings)
    tests = tuple(_test(group, findings) for group in done)
    targets = [] if own_files else _targets(done, findings)
    if tell_files and not own_files:
        _tell_files(done, findings)
    return PlanOutline(
        title=_title(source),
        tests=tests,
        remarks=(*targets, *_left_to_backend(sections)),
        traces=_traces(done),
    )


def imported_groups(
    sections: list[Section], findings: Findings, own_files: bool = False
) -> list[list[ImportedJob]]:
    """The jobs that a plan can say, by the runs that they are. Raises ImportFault."""
    jobs = jobs_of(sections, findings)
    if not jobs:
        raise ImportFault(
            "there is no job: all sections are [global]", sections[0].span
        )
    groups = [_imported(one, findings, own_files) for one in _groups(jobs, findings)]
    done = [group for group in groups if group]
    if not done:
        raise ImportFault(
            "no job of the file can be said as a plan", jobs[0].span, "see the others"
        )
    return _on_own_targets(done) if own_files else done


def _title(source: Source) -> str:
    return Path(source.name).stem


def _groups(jobs: list[FioJob], findings: Findings) -> list[list[FioJob]]:
    """Jobs that run at the same time; a stonewall waits for all before it."""
    groups: list[list[FioJob]] = []
    for job in jobs:
        waits = job.text("wait_for")
        before = {one.name for one in groups[-1]} if groups else set()
        if waits and waits not in before:
            findings.loss(
                f"wait_for={waits} is left out: it is none of the jobs just before",
                job.place("wait_for"),
                "write the runs in the order in which they are to come",
            )
        if waits in before and len(before) > 1:
            findings.loss(
                f"fio starts {job.name!r} when {waits!r} has ended; here it comes "
                f"after all jobs that run beside that",
                job.place("wait_for"),
                "let it begin at a time of its own: starts after 1min",
            )
        if not groups or job.is_on("stonewall") or waits in before:
            groups.append([])
        groups[-1].append(job)
    _tell_later(groups, findings)
    return groups


def _tell_later(groups: list[list[FioJob]], findings: Findings) -> None:
    """What later groups lose of what counts from fio's start, or ends all of it."""
    for job in chain.from_iterable(groups[1:]):
        if job.has("startdelay"):
            findings.loss(
                "fio counts startdelay from its own start; here it counts from the "
                "begin of the run",
                job.place("startdelay"),
                "subtract what the jobs before it take",
            )
    for job in chain.from_iterable(groups[:-1]):
        if job.has("exitall") and job.text("exit_what") == "all":
            findings.loss(
                "exit_what=all ends the jobs that come later, too; here they are run",
                job.place("exit_what"),
                "leave those jobs out",
            )
            return


def _on_own_targets(groups: list[list[ImportedJob]]) -> list[list[ImportedJob]]:
    """Each stream on the targets of its job, where not all have the same one."""
    words = {name for group in groups for one in group for name in one.targets}
    if len(words) < 2:
        return groups
    names = {word: name for name, word in called(words).items()}
    return [[_on_own(one, names) for one in group] for group in groups]


def _on_own(one: ImportedJob, names: Mapping[str, str]) -> ImportedJob:
    text = ", ".join(f'"{names[word]}"' for word in one.targets)
    clauses = {**one.stream.clauses, "targets": f"on targets {text}"}
    return replace(one, stream=replace(one.stream, clauses=clauses))


def _imported(
    jobs: list[FioJob], findings: Findings, own_files: bool
) -> list[ImportedJob]:
    """The jobs that can be translated."""
    found = []
    for job in jobs:
        try:
            found.append(_stream(job, findings, own_files))
        except Refused:
            continue
    return found


def _stream(job: FioJob, findings: Findings, own_files: bool) -> ImportedJob:
    """One job as a stream; of many, one on each file. Raises Refused."""
    check_engine(job, findings)
    if job.has("read_iolog"):
        return _replay(job, findings)
    target = target_of(job, findings)
    targets = own_targets(job, target) if own_files else (target,)
    one = job.without("numjobs") if len(targets) > 1 else job
    shape = shape_of(one, findings)
    clauses = clauses_of(one, shape, findings)
    clauses |= region_of(one, shape, findings)
    return ImportedJob(
        job=job,
        stream=StreamOutline(name=name_of(job.name), clauses=clauses),
        length=length_of(one, shape, findings),
        delay_ns=_delay_ns(job, findings),
        targets=targets,
    )


def _delay_ns(job: FioJob, findings: Findings) -> int:
    tell_range(job, "startdelay", findings)
    return 1000 * job.read(
        "startdelay", lambda text: time_us(text, seconds=True), 0, findings
    )


def _replay(job: FioJob, findings: Findings) -> ImportedJob:
    """One job that replays a log. Raises Refused."""
    stem = Path(job.text("read_iolog")).name.partition(".")[0]
    trace = trace_of(job, f"{name_of(stem)}_trace", findings)
    clauses = replay_clauses(job, trace.name, findings)
    return ImportedJob(
        job=job,
        stream=StreamOutline(name=name_of(job.name), clauses=clauses),
        length=replay_length(job, findings),
        delay_ns=_delay_ns(job, findings),
        targets=(job.text("replay_redirect", "the one of its log"),),
        trace=trace,
    )


def _traces(groups: list[list[ImportedJob]]) -> tuple[TraceOutline, ...]:
    """Each log once. Raises ImportFault where two would have one name."""
    found: dict[str, TraceOutline] = {}
    for one in (job.trace for group in groups for job in group if job.trace):
        if found.setdefault(one.name, one).log != one.log:
            raise ImportFault(
                f"two logs would be the trace {one.name}", one.span, "rename one"
            )
    return tuple(found.values())


def name_of(text: str) -> str:
    """A section's name as a name of the language."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "job"
    name = re.sub(r"__+", "_", name)
    name = f"job_{name}" if name[0].isdigit() else name
    return RESERVED.get(name, name)


def _test(group: list[ImportedJob], findings: Findings) -> TestOutline:
    """The jobs of a group as streams of one run."""
    timed = Timed.of([(one.length, one.delay_ns) for one in group])
    if timed is None:
        _tell_times(group, findings)
    else:
        _tell_common_delay(group, findings)
    _tell_exit(group, findings)
    length = timed.length if timed else _longest(group).length
    times = timed.clauses if timed else [{}] * len(group)
    descriptions = [one.job.text("description") for one in group]
    return TestOutline(
        title=", ".join(dict.fromkeys(one.job.name for one in group)),
        streams=_uniquely_named(
            [
                replace(one.stream, clauses={**one.stream.clauses, **part})
                for one, part in zip(group, times, strict=True)
            ]
        ),
        length=length,
        remarks=tuple(dict.fromkeys(text for text in descriptions if text)),
    )


def _longest(group: list[ImportedJob]) -> ImportedJob:
    return max(group, key=lambda one: one.length.run_ns or 0)


def _tell_exit(group: list[ImportedJob], findings: Findings) -> None:
    """Jobs that end at different times, of which the first is to end all: of the same
    amount each, only the same load ends together."""
    ending = next((one.job for one in group if one.job.has("exitall")), None)
    alike = len({(one.length.text, one.delay_ns) for one in group}) == 1
    loads = {tuple(sorted(one.stream.clauses.items())) for one in group}
    together = alike and (group[0].length.run_ns or len(loads) == 1)
    if ending and len(group) > 1 and not together:
        findings.loss(
            "exitall is left out: the end of one stream does not end the others",
            ending.place("exitall"),
            "give all jobs the time after which the first of them ends",
        )


def _tell_times(group: list[ImportedJob], findings: Findings) -> None:
    """What jobs without a time, or with warm-ups of their own, lose in one run."""
    longest = _longest(group).length
    for one in group:
        if one.length.text != longest.text:
            findings.loss(
                f"the job {one.job.name!r} would end by itself; streams of a run "
                f"end together, here {longest.text}",
                one.job.place("runtime", "io_size", "size"),
                "give the jobs one runtime, with time_based",
            )
        if one.length.warmup_ns != longest.warmup_ns:
            findings.loss(
                f"ramp_time of the job {one.job.name!r} is not that of the others; "
                f"streams of a run have one warm-up",
                one.job.place("ramp_time"),
                "give the jobs one ramp_time",
            )
        if one.delay_ns:
            text = make("time", one.delay_ns).text
            findings.loss(
                f"startdelay of {text} is left out: streams of a run begin together",
                one.job.place("startdelay"),
                "jobs that start later need one runtime and one ramp_time for all",
            )


def _tell_common_delay(group: list[ImportedJob], findings: Findings) -> None:
    first = min(group, key=lambda one: one.delay_ns)
    if first.delay_ns:
        text = make("time", first.delay_ns).text
        findings.loss(
            f"startdelay of {text} is left out: no job does I/O before",
            first.job.place("startdelay"),
            f"write before the run: idle {text}",
        )


def _uniquely_named(streams: list[StreamOutline]) -> tuple[StreamOutline, ...]:
    found: list[StreamOutline] = []
    for stream in streams:
        taken = {one.name for one in found}
        name, number = stream.name, 2
        while name in taken:
            name, number = f"{stream.name}_{number}", number + 1
        found.append(StreamOutline(name=name, clauses=stream.clauses))
    return tuple(found)


def _tell_buffered(jobs: list[FioJob], findings: Findings) -> None:
    """Once for each place that says it, or for all that do not say otherwise."""
    places: dict[Span | None, tuple[Span, str]] = {}
    for job in jobs:
        if is_buffered(job):
            said = next((n for n in ("direct", "buffered") if job.has(n)), "")
            span = job.options[said].span if said else job.span
            places.setdefault(span if said else None, (span, said))
    for span, said in places.values():
        findings.loss(
            f"fio goes through the page cache{'' if said else ' without direct=1'}; "
            f"a plan always does direct I/O",
            span,
            "with direct=1 both do the same",
        )


def _targets(groups: list[list[ImportedJob]], findings: Findings) -> list[str]:
    """A remark on what the job file called its target."""
    jobs = [one for group in groups for one in group]
    names = [one.targets[0] for one in jobs]
    for one in jobs:
        if one.targets[0] != names[0]:
            findings.loss(
                f"the job {one.job.name!r} has another target than the first, and a "
                f"plan has one",
                one.job.place("filename"),
                "run the plan on each target",
            )
            break
    if not names[0]:
        return ["In fio each job made a file of its own; here all share one target."]
    return [f"fio's target was {names[0]}; name it with --target."]


def _tell_files(groups: list[list[ImportedJob]], findings: Findings) -> None:
    """Several files that fio makes of jobs that name no file, or name the same."""
    jobs = [one for group in groups for one in group]
    files = list(dict.fromkeys(chain.from_iterable(map(files_in_fio, jobs))))
    if len(files) > 1 and len({one.targets[0] for one in jobs}) == 1:
        shown = ", ".join(files[:SHOWN_FILES]) + ", …" * (len(files) > SHOWN_FILES)
        findings.loss(
            f"fio does this on {len(files)} files of its own ({shown}); here all is "
            f"on one target",
            jobs[-1].job.place("numjobs", "directory"),
            "give all jobs one filename; `ioplan fio` runs them on files of their own",
        )


def files_in_fio(one: ImportedJob) -> tuple[str, ...]:
    """The files that a job has in fio, whatever the plan makes of them."""
    if one.trace:
        return one.targets
    return own_targets(one.job, target_of(one.job, Findings()))


def _left_to_backend(sections: list[Section]) -> list[str]:
    names = of_no_matter(sections)
    if not names:
        return []
    return [f"Of no matter to the target, and left out: {', '.join(names)}."]
