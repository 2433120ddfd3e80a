"""What is wrong with a run of fio, as a Failure.

fio is no good witness of its own failures: `error` is 0 when a file could not be
opened, messages go to either stream, and figures that cannot be are printed as any
others. So the exit code, all errors, all messages and the figures are looked at.
"""

from __future__ import annotations

import errno
import os
import re
from itertools import pairwise

from ioplan.backends import DIRECTIONS, Direction, Failure, Job, JobStream
from ioplan_fio.document import LiveDirection, LiveJob, LiveReport
from ioplan_fio.jobfile import section_names
from ioplan_fio.streams import sizes

INTERRUPTED = 128
"""fio's exit code after SIGINT or SIGTERM."""
SHOWN = 300
SLACK_MS = 1000
CLAT_SLACK = 1.01
CAUSES = {
    errno.EROFS: "read-only",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
}
HINTS = {
    errno.ENODATA: "; the target ended early, or could not read the place",
    errno.ENOTTY: "; the target does not support this kind of I/O",
    errno.EINVAL: "; the target cannot do I/O of this size or offset, or is gone",
}
MESSAGE_CAUSES = (
    ("file creation disallowed", "missing-target"),
    ("No such file", "missing-target"),
    ("Permission denied", "permission"),
    ("not allowed with the --readonly", "read-only"),
    ("fio is in read-only mode", "read-only"),
    ("No space left", "no-space"),
    ("Operation not permitted", "permission"),
    ("engine", "bad-job"),
)
REASON = re.compile(r"error|fail|fio:|cannot|denied|disallowed", re.I)


def run_failure(
    job: Job, report: LiveReport | None, code: int, messages: str, stopped: bool
) -> Failure | None:
    """Why a run that has ended cannot be used; None for a sound one."""
    found = report and _first_error(report, messages)
    if found:
        return found
    if code < 0 and not stopped:
        text = f"fio was ended by signal {-code}{_quote(messages)}; run it again"
        return Failure(cause="backend-died", message=text)
    if code not in (0, INTERRUPTED) and code >= 0:
        return _refused(code, messages)
    if report is None:
        return None if stopped else _silent(messages)
    return _figures(job, report)


class EmptyReads:
    """Finds reads that move no byte any more, as those of a drive that is gone.

    fio takes them for I/Os that went well, and would go on until its time is over. It
    reads its counters one after the other while its threads go on, so in one report
    the bytes may be older than the latencies; what two intervals show is no race.
    """

    def __init__(self, job: Job) -> None:
        self._streams = _threads(job)
        self._reports: list[LiveReport] = []
        self.found = False

    def add(self, report: LiveReport) -> bool:
        """Whether there are any, up to this report."""
        self._reports = [*self._reports[-2:], report]
        if len(self._reports) == 3:
            threads = zip(*(report.jobs for report in self._reports), strict=True)
            reads = ([one.part("read") for one in thread] for thread in threads)
            pairs = zip(self._streams, reads, strict=True)
            self.found |= any(self._is_empty(stream, *part) for stream, part in pairs)
        return self.found

    def _is_empty(self, stream: JobStream, *parts: LiveDirection) -> bool:
        grown = (new.lat.count - old.lat.count for old, new in pairwise(parts))
        moved = parts[-1].io_bytes - parts[0].io_bytes
        return not moved and all(ios > 2 * stream.qd for ios in grown)


def _threads(job: Job) -> list[JobStream]:
    """The stream of each of fio's threads."""
    return [stream for stream in job.streams for _ in range(stream.threads)]


def thread_mismatch(job: Job, report: LiveReport) -> str:
    """How the threads are not those of the job file, one by one and in its order."""
    pairs = zip(section_names(job), job.streams, strict=True)
    expected = [name for name, stream in pairs for _ in range(stream.threads)]
    found = [one.name for one in report.jobs]
    if found == expected:
        return ""
    return (
        f"it reports {len(found)} threads, {', '.join(found)[:80] or 'none'}, where "
        f"{len(expected)} were asked for"
    )


STOPPED_EMPTY = Failure(
    cause="device-error",
    message="ioplan ended fio: its reads moved no byte any more, as of a drive that is "
    "gone",
)


def removal(target: str) -> Failure:
    """Whatever fio met first: reads of no byte, or an error."""
    return Failure(
        cause="device-error",
        message=f"{target} is gone: it failed or was unplugged; see the kernel's log "
        "(dmesg) for the device's own words",
    )


def _first_error(report: LiveReport, messages: str) -> Failure | None:
    number = next((job.error for job in report.jobs if job.error), 0)
    if not number:
        return None
    where = re.search(
        r"io_u error on file .*?: (?:.*: )?(\w+ offset=\d+, .*)", messages
    )
    place = f" ({where[1]})" if where else ""
    name = errno.errorcode.get(number, "error")
    return Failure(
        cause="device-error" if where else CAUSES.get(number, "device-error"),
        message=f"an I/O failed{place}: {name} ({os.strerror(number)}, err={number})"
        f"{HINTS.get(number, '')}; fio stops at the first error",
    )


def _refused(code: int, messages: str) -> Failure:
    """fio ended by itself, without saying so in its JSON."""
    found = [cause for text, cause in MESSAGE_CAUSES if text in messages]
    return Failure(
        cause=found[0] if found else "backend-error",
        message=f"fio exited with code {code}{_quote(messages)}",
    )


def _silent(messages: str) -> Failure:
    text = f"fio ended without a result{_quote(messages)}"
    return Failure(cause="backend-garbage", message=text)


def _quote(messages: str) -> str:
    """The lines that look like a reason, or else the last ones."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    lines = list(dict.fromkeys(filter(REASON.search, lines))) or lines[-3:]
    return f", and said: {'; '.join(lines)[:SHOWN]}" if lines else ""


def unreadable_output(program: str, reason: str) -> Failure:
    """Output that is not what this backend can read."""
    return Failure(
        cause="backend-garbage",
        message=f"{program} printed invalid output: {reason}",
    )


def _figures(job: Job, report: LiveReport) -> Failure | None:
    warmup_ms = job.warmup_ns // 1_000_000
    for stream, one in zip(_threads(job), report.jobs, strict=True):
        for direction in DIRECTIONS:
            part, where = one.part(direction), f"{one.name} {direction}"
            if _moved_too_little(part, stream, direction):
                return _empty(where, part)
            text = _contradiction(part, one, warmup_ms, 2 * stream.qd)
            if text:
                message = f"the figures of {where} cannot be: {text}"
                return Failure(cause="inconsistent", message=message)
    return None


def _moved_too_little(
    part: LiveDirection, stream: JobStream, direction: Direction
) -> bool:
    """With io_uring, fio 3.33 counts a read of no byte as one that went well."""
    used = [share.size_bytes for share in sizes(stream, direction)]
    under_way_bytes = 2 * stream.qd * max(used)
    return part.io_bytes < part.lat.count * min(used) - under_way_bytes


def _empty(where: str, part: LiveDirection) -> Failure:
    return Failure(
        cause="device-error",
        message=f"{where}: {part.lat.count} I/Os moved only {part.io_bytes} B: the "
        f"target ended early, and fio counts reads beyond its end as I/Os",
    )


def _contradiction(
    part: LiveDirection, job: LiveJob, warmup_ms: int, slack_ios: int
) -> str:
    lat, clat = part.lat, part.clat
    if not lat.count:
        lost = part.total_ios > slack_ios and not warmup_ms
        return f"{part.total_ios} I/Os have no latency" * lost
    counted = sum(lat.bins.values())
    if counted != lat.count:
        return f"its latency bins hold {counted} I/Os of {lat.count}"
    if clat.count and clat.mean_ns > lat.mean_ns * CLAT_SLACK:
        return (
            f"a completion takes {clat.mean_ns:.0f} ns in the mean, and the whole "
            f"I/O only {lat.mean_ns:.0f} ns"
        )
    longest_ms = job.runtime_ms + warmup_ms + SLACK_MS
    if max(lat.max_ns, clat.max_ns) > longest_ms * 1_000_000:
        return "its longest I/O took longer than the run"
    if abs(part.total_ios - lat.count) > slack_ios:
        return f"{part.total_ios} I/Os were issued, {lat.count} have a latency"
    return ""
