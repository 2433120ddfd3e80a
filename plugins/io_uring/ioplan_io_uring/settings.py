"""The options of the lab: `[backends.io_uring]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ioplan.backends import (
    BackendError,
    Gap,
    Job,
    Model,
    TraceError,
    did_you_mean,
    file_of,
    job_text,
)


class Settings(Model):
    """How the engine is to reach the drive.

    `polled` looks for completions in the drive's queue instead of waiting for
    interrupts; `passthrough` hands NVMe commands to the drive past the block layer. In
    the folder `traces` each run leaves what it did as a trace.
    """

    polled: bool = False
    passthrough: bool = False
    traces: str = ""

    @property
    def enabled(self) -> list[str]:
        """The names of those that are on."""
        return [name for name in ("polled", "passthrough") if getattr(self, name)]


def settings_of(options: dict[str, Any]) -> Settings:
    """The options, checked. Raises BackendError."""
    known = list(Settings.model_fields)
    for name in options:
        if name not in known:
            raise BackendError(
                f"the io_uring backend has no option {name!r}"
                f"{did_you_mean(name, known)}; it has {', '.join(known)}"
            )
    if not options:
        return Settings.model_construct()
    try:
        return Settings.model_validate(options)
    except ValidationError as error:
        wrong = str(error.errors()[0]["loc"][0])
        raise BackendError(
            f"the io_uring backend's option {wrong} is {options[wrong]!r}; "
            f"write {'a folder' if wrong == 'traces' else 'true or false'}"
        ) from error


def gaps_of(job: Job, settings: Settings) -> list[Gap]:
    """What these settings cannot do: trims, and with polled flushes and FUA.

    Several targets have no `verify`: its file of stamps is of one.
    """
    return [*_gaps_of_targets(job, settings), *_gaps_of_size(job)] + [
        Gap(stream=stream.name, field=field, reason=f"{name} I/O has no {field}")
        for stream in job.streams
        for name in settings.enabled
        for field in ("trim", "sync", "fua")
        if (field == "trim" and stream.trim_percent)
        or (field == "sync" and name == "polled" and stream.sync_every)
        or (field == "fua" and name == "polled" and stream.fua)
    ]


MOST_QD, MOST_THREADS, MOST_TARGETS = 16_384, 4096, 256
"""As in the engine's `check.rs`."""


def _gaps_of_size(job: Job) -> list[Gap]:
    """What the engine has no room for."""
    found = [
        Gap(stream=one.name, field="qd", reason=f"at most {MOST_QD:,} per thread")
        for one in job.streams
        if one.qd > MOST_QD
    ]
    found += [
        Gap(stream=one.name, field="targets", reason=f"at most {MOST_TARGETS}")
        for one in job.streams
        if len(one.target_numbers) > MOST_TARGETS
    ]
    if job.threads > MOST_THREADS:
        reason = f"{job.threads:,} threads in all are more than {MOST_THREADS:,}"
        first = job.streams[0].name
        found.append(Gap(stream=first, field="threads", reason=reason))
    return found


def _gaps_of_targets(job: Job, settings: Settings) -> list[Gap]:
    if len(job.targets) < 2:
        return []
    found = [
        Gap(stream=one.name, field="verify", reason="a run on several targets has none")
        for one in job.streams
        if one.verify
    ]
    followed = {one.follows for one in job.streams}
    found += [
        Gap(stream=one.name, field="follows", reason="a log is on one target")
        for one in job.streams
        if one.name in followed and one.times > 1
    ]
    if settings.passthrough:
        reason = "passthrough is for a run on one target"
        found.append(Gap(stream=job.streams[0].name, field="targets", reason=reason))
    return found


def engine_job(
    job: Job,
    settings: Settings,
    indent: int | None = None,
    stamps: Path | None = None,
    keep: Path | None = None,
) -> str:
    """The job as the engine reads it: with these settings, and of one host.

    `stamps` is the file that remembers what was written with `verify`, and `keep` what
    the names of the files begin with in which threads keep what they issue.
    """
    own = {name: True for name in settings.enabled}
    files = {"stamps": stamps, "keep": keep}
    stored: dict[str, Any] = {name: str(path) for name, path in files.items() if path}
    return job_text(job, {**own, **stored, **_traces(job)}, indent)


def _traces(job: Job) -> dict[str, Any]:
    """The files of the traces that are replayed, by their digests.

    Raises BackendError for one that is not there any more, or has changed.
    """
    digests = [stream.replay.digest for stream in job.streams if stream.replay]
    try:
        files = {digest: str(file_of(digest)) for digest in digests}
    except TraceError as error:
        raise BackendError(f"the trace: {error}") from error
    return {"traces": files} if files else {}
