"""A job with `read_iolog` as a replay, of a trace that is made of its log."""

from __future__ import annotations

from pathlib import Path

from ioplan.language import make
from ioplan.trace import TraceError, source_of
from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.numbers import time_us, whole
from ioplan_importer.fio.shape import Refused
from ioplan_importer.fio.vocabulary import ONE_AT_A_TIME
from ioplan_importer.outline import Clauses, Length, TraceOutline

US_NS = 1000
LEFT_OUT = (
    *("numjobs", "ramp_time", "rate", "rate_iops", "thinktime", "offset", "loops"),
    *("size", "io_size", "number_ios", "time_based"),
)
"""What fio heeds beside a log, and a replay does not have."""
KINDS = ("read", "write", "trim", "sync")
ONLY = {"read": "only reads", "write": "only writes"}


def trace_of(job: FioJob, name: str, findings: Findings) -> TraceOutline:
    """The log, which fio looks for where it is called. Raises Refused."""
    text, span = job.text("read_iolog"), job.place("read_iolog")
    near = Path(span.source.name).parent / text
    log = next((one for one in (Path(text), near) if one.is_file()), None)
    try:
        if log is None or not text:
            raise TraceError("there is no such file, here or beside the job file")
        source_of(log)
    except (TraceError, OSError) as error:
        findings.error(f"the job {job.name!r} is left out: {text}: {error}", span)
        raise Refused from None
    return TraceOutline(name=name, log=log, span=span)


def replay_clauses(job: FioJob, trace: str, findings: Findings) -> Clauses:
    """When and which of its I/Os are replayed."""
    for name in LEFT_OUT:
        if job.has(name):
            findings.loss(
                f"{name} is left out: a replay does what was recorded, once",
                job.place(name),
            )
    engine = job.text("ioengine", "psync").split(":")[0].strip()
    depth = 1 if engine in ONE_AT_A_TIME else job.read("iodepth", whole, 1, findings)
    clauses = {"pattern": f"replay {trace}", "qd": f"qd {max(1, depth)}"}
    if job.read("replay_no_stall", whole, 0, findings):
        clauses["as fast as possible"] = "as fast as possible"
    elif (scale := job.read("replay_time_scale", whole, 100, findings)) not in (0, 100):
        clauses["speed"] = f"speed {scale / 100:g}"
    return clauses | _only(job, findings)


def _only(job: FioJob, findings: Findings) -> Clauses:
    skipped = {word.strip() for word in job.text("replay_skip").split(",")} - {""}
    kept = [kind for kind in KINDS if kind not in skipped]
    if not skipped:
        return {}
    if not {*kept} & {*ONLY} or len({*kept} & {*ONLY}) > 1:
        findings.loss(
            f"replay_skip={job.text('replay_skip')} is left out: a replay is of all "
            "I/Os, of reads only or of writes only",
            job.place("replay_skip"),
        )
        return {}
    (one,) = {*kept} & {*ONLY}
    if len(kept) > 1:
        findings.loss(
            f"here {ONLY[one]} are replayed: no discards and no flushes",
            job.place("replay_skip"),
        )
    return {"only": ONLY[one]}


def replay_length(job: FioJob, findings: Findings) -> Length:
    """The log's own, or a time after which it ends before."""
    run_us = job.read("runtime", lambda t: time_us(t, seconds=True), 0, findings)
    if not run_us:
        return Length()
    run_ns = run_us * US_NS
    return Length(text=f"for {make('time', run_ns).text}", run_ns=run_ns)
