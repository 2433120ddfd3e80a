"""A file of fio's results as a session of records, marked as imported everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from ioplan.backends import TargetFacts
from ioplan.core import Cause, __version__, counted
from ioplan.job import SECOND_NS, Cpu
from ioplan.language import Source, Span
from ioplan.planner import Run, run_job
from ioplan.records import (
    ALPHABET,
    TAG,
    Asked,
    BackendFacts,
    Interval,
    RunDetail,
    RunRecord,
    Session,
    SessionStatus,
    id_of,
)
from ioplan.workload import DIRECTIONS
from ioplan_fio.document import JobReport, Report
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio_results.documents import documents
from ioplan_importer.fio_results.figures import (
    Parts,
    alike,
    direction_of,
    histograms,
    parts_of,
    run_ns_of,
    stream_result,
    total_of,
)
from ioplan_importer.fio_results.log_file import LogFile
from ioplan_importer.fio_results.series import (
    UNTOLD,
    AskedRuns,
    Group,
    series_by_run,
    start_form_of,
)

# A kept result of fio, checked.

OLDEST, OLDEST_TEXT = (3, 1), "3.1"
VERSION = re.compile(r"(?:fio-)?(\d+)\.(\d+)")
OLD_NAMES = {"clat", "lat", "slat"}


def report_of(document: dict[str, Any], source: Source) -> Report:
    """The document, checked. Raises ImportFault."""
    if any("mixed" in job and "read" not in job for job in _dicts(document["jobs"])):
        raise ImportFault(
            "fio was told to report reads and writes as one (unified_rw_reporting=1)",
            _start(source),
            "run it with unified_rw_reporting=both, or without it",
        )
    _check_version(document, source)
    try:
        report = Report.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise ImportFault(
            f"this is no result of fio {OLDEST_TEXT} or newer: {place}: {fault['msg']}",
            _start(source),
            "older ones have other figures in other units: run them again",
        ) from None
    if not report.jobs:
        raise ImportFault("fio ran no job: it failed before", _start(source))
    report.leave_out_verification()
    report.round_depths()
    return report


def _check_version(document: dict[str, Any], source: Source) -> None:
    """Until 3.0 fio wrote latencies in µs and sizes in KiB, by other names."""
    version = str(document.get("fio version", ""))
    found = VERSION.match(version)
    old = found is not None and (int(found[1]), int(found[2])) < OLDEST
    parts = (part for job in _dicts(document["jobs"]) for part in job.values())
    old = old or any(isinstance(one, dict) and OLD_NAMES & one.keys() for one in parts)
    if old:
        raise ImportFault(
            f"this is a result of {version or 'an old fio'}, whose latencies are in "
            "µs and whose sizes are in KiB",
            _start(source),
            f"from fio {OLDEST_TEXT} on they are read: run it again",
        )


def _dicts(jobs: object) -> list[dict[str, Any]]:
    return (
        [one for one in jobs if isinstance(one, dict)] if isinstance(jobs, list) else []
    )


def _start(source: Source) -> Span:
    return Span(source, max(0, source.text.find("{")), source.text.find("{") + 1)


IMPORTED = "imported"
SUMMARY_ONLY = (
    "summary only: fio gave no histogram (--output-format=json+ does), so that there "
    "are no percentiles but those that it wrote, and none of several runs together"
)
UNMEASURED = (
    "fio measured no latency, or not of all I/Os (gtod_reduce, disable_clat, "
    "disable_lat): there is none"
)
SATURATED = (
    "fio's histogram ends at 17.1 s, and some I/Os took longer: percentiles of that "
    "much are lower bounds (≥), and none is made of the histogram"
)
VERIFICATION = "the figures are of the writes: what fio read to verify them is left out"
NOMINAL_BYTES = 1 << 50
"""Stands for a capacity that fio does not tell, where no region says more."""
SECTOR_BYTES = 512


class ImportedSession(Struct, frozen=True):
    """A session that another program ran."""

    session: Session
    records: tuple[tuple[RunRecord, RunDetail], ...]


def import_results(
    source: Source,
    job_file: Source | None,
    drive: str | None,
    tag: str | None,
    findings: Findings,
    logs: Sequence[LogFile] = (),
) -> ImportedSession:
    """The results in a file, with the logs of its threads. Raises ImportFault."""
    found = [report_of(one, source) for one in documents(source, findings)]
    asked = start_form_of(found[-1], source, job_file)
    findings.found += [one for one in asked.made.found if one.severity != "note"]
    series = series_by_run(found, asked.runs, logs, findings)
    read = (source, *(log.source for log in logs))
    maker = _Maker(read, found, asked, series, drive, tag, job_file is not None)
    return ImportedSession(maker.session, tuple(maker.records()))


class _Maker:
    """Makes the records of one file; a later document replaces an earlier one."""

    def __init__(
        self,
        read: Sequence[Source],
        reports: list[Report],
        asked: AskedRuns,
        series: list[tuple[Interval, ...]],
        drive: str | None,
        tag: str | None,
        told_all: bool,
    ) -> None:
        source, *logs = read
        self.source, self.reports, self.asked = source, reports, asked
        digest = _suffix(source.text, drive, tag, *(log.text for log in logs))
        self.report, self.drive, self.told_all = reports[-1], drive, told_all
        self.series = series
        ended = datetime.fromtimestamp(self.report.ended_ms / 1000, UTC)
        status: SessionStatus = (
            "failed" if any(job.error for job in self.report.jobs) else "ok"
        )
        plan = asked.made.plan
        assert plan
        self.plan, self.file = plan, Path(source.name).name
        self.target = drive or self._file_name() or "unknown"
        self.session = Session(
            id=id_of(self.report.ended_ms * 1_000_000, digest),
            plan=plan.title,
            plan_file=self.file,
            plan_text=asked.made.text,
            started_at=ended.isoformat(timespec="milliseconds"),
            ended_at=ended.isoformat(timespec="milliseconds"),
            status=status,
            backend=f"fio, {IMPORTED}",
            target=self.target,
            tags=(tag,) if tag and re.fullmatch(TAG, tag) else (),
            note=tag if tag and not re.fullmatch(TAG, tag) else "",
        )

    def _file_name(self) -> str:
        options = {**self.report.options, **self.report.jobs[0].options}
        return str(options.get("filename", ""))

    def records(self) -> Iterator[tuple[RunRecord, RunDetail]]:
        """A record for each group of jobs."""
        for seq, (group, run) in enumerate(self.asked.runs, 1):
            parts = alike([parts_of(jobs) for jobs in group])
            names = [stream.name for stream in run.workload.streams]
            detail = RunDetail(
                histograms=tuple(
                    one
                    for name, part in zip(names, parts, strict=True)
                    for one in histograms(name, part)
                ),
                series=self.series[seq - 1],
            )
            yield self._record(seq, group, run, parts), detail

    def _record(
        self, seq: int, group: Group, run: Run, parts: list[Parts]
    ) -> RunRecord:
        jobs = [job for threads in group for job in threads]
        run_ns = run_ns_of(jobs)
        cause, message = _fault(jobs)
        cpu = _cpu(group)
        named = zip(run.workload.streams, group, parts, strict=True)
        return RunRecord(
            session=self.session.id,
            seq=seq,
            run_id=run.run_id,
            status="failed" if cause else "ok",
            cause=cause,
            message=message,
            ioplan=__version__,
            asked=self._asked(run),
            backend=self._backend(),
            target={"path": self.target, "kind": IMPORTED, "identity": {}},
            host={},
            started_at=self.session.started_at,
            ended_at=self.session.started_at,
            run_s=run_ns / SECOND_NS,
            streams=tuple(stream_result(s.name, j, p) for s, j, p in named),
            directions={
                d: found.result(run_ns)
                for d in DIRECTIONS
                if (found := direction_of(parts, d))
            },
            total=total_of(parts).result(run_ns),
            cpu=cpu,
            cpu_percent=(100 * (cpu.user_ns + cpu.system_ns) / run_ns if cpu else None),
            warnings=tuple(self._warnings(parts, jobs)),
        )

    def _asked(self, run: Run) -> Asked:
        ends = [s.region.end_bytes for s in run.workload.streams]
        facts = TargetFacts(
            path=self.target,
            kind=IMPORTED,
            capacity_bytes=NOMINAL_BYTES + max(ends),
            block_bytes=SECTOR_BYTES,
        )
        return Asked(
            plan=self.plan.title,
            plan_file=self.file,
            test=run.test.title,
            cell=run.cell_text,
            kind="run",
            step=run.index,
            workload=run.workload,
            job=run_job(run, facts, not run.writes),
        )

    def _backend(self) -> BackendFacts:
        return BackendFacts(
            name="fio",
            version=self.report.version.removeprefix("fio-"),
            mode=IMPORTED,
            reason=f"from {self.file}",
        )

    def _warnings(self, parts: list[Parts], jobs: list[JobReport]) -> Iterator[str]:
        yield f"imported from {self.file}: ioplan did not measure it"
        if any(job.verified for job in jobs):
            yield VERIFICATION
        found = [part for one in parts for part in one.values()]
        if not all(part.is_measured for part in found):
            yield UNMEASURED
        elif any(part.is_saturated for part in found):
            yield SATURATED
        elif not all(part.has_histogram for part in found):
            yield SUMMARY_ONLY
        if not self.told_all:
            yield UNTOLD
        losses = sum(one.severity != "note" for one in self.asked.made.found)
        if losses:
            yield f"{counted(losses, 'difference')} between the plan and fio's options"


def _cpu(group: Group) -> Cpu:
    """Shares of the time of all threads, which `job_runtime` is the sum of."""
    jobs = [job for threads in group for job in threads]
    ns_of_percent = [job.runtime_ms * 1e4 for job in jobs]
    user = (j.user_percent * t for j, t in zip(jobs, ns_of_percent, strict=True))
    system = (j.system_percent * t for j, t in zip(jobs, ns_of_percent, strict=True))
    return Cpu(user_ns=round(sum(user)), system_ns=round(sum(system)))


def _suffix(*parts: Any) -> str:
    """Four letters that the content decides: importing it twice is one session."""
    digest = blake2b("\x1f".join(map(str, parts)).encode(), digest_size=4).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest)


def _fault(jobs: Sequence[JobReport]) -> tuple[str, str]:
    """The cause and the message of a failed run; empty of one that is not."""
    if error := next((job.error for job in jobs if job.error), 0):
        return Cause.DEVICE_ERROR, f"fio told the error {error} of a job"
    for job in jobs:
        for direction in DIRECTIONS:
            if text := job.part(direction).contradiction:
                return Cause.INCONSISTENT, f"the results are inconsistent: {text}"
    return "", ""
