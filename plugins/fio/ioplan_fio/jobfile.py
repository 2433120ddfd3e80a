"""A run as a fio job file, such as a person would write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ioplan.backends import BackendError
from ioplan.job import Job, JobStream
from ioplan_fio.huge_pages import huge_page_environment, huge_page_lines
from ioplan_fio.section import replay_section, section_lines
from ioplan_fio.settings import Settings

MS_NS, US_NS = 1_000_000, 1_000
KEPT = re.compile(r"[\w.-]+")


def job_file(job: Job, settings: Settings, prerun: str = "") -> str:
    """The whole file; `prerun` is a command that each thread begins with.

    Raises BackendError for a target that cannot be written in it.
    """
    sections = zip(section_names(job), job.streams, strict=True)
    first = [f"exec_prerun={prerun}"] if prerun else []
    blocks = [["[global]", *_global_lines(job, settings), *first]]
    blocks += [
        [f"[{name}]", *_lines(job, name, one, settings)] for name, one in sections
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _lines(job: Job, name: str, stream: JobStream, settings: Settings) -> Iterator[str]:
    if stream.replay:
        target = target_of(job.target, settings)
        yield from replay_section(job, stream, name, target)
    else:
        yield from section_lines(job, stream)
    yield from _part_lines(job, stream)
    if not settings.plugin:  # which has memory of its own
        yield from huge_page_lines(stream)


def environment(job: Job, settings: Settings) -> dict[str, str]:
    """What fio needs in its environment."""
    if settings.plugin:
        return {"LD_PRELOAD": settings.plugin.library}
    return huge_page_environment(job)


def section_names(job: Job) -> list[str]:
    """The streams' names, but for what a job file would take for something else."""
    return [
        name if KEPT.fullmatch(name) and name != "global" else f"stream-{number}"
        for number, name in enumerate((s.name for s in job.streams), 1)
    ]


def arguments(job: Job) -> list[str]:
    """The command line beside the job file."""
    interval = duration(job.interval_ns)
    options = ["--output-format=json+", "--eta=never", f"--status-interval={interval}"]
    return [*options, "--readonly"] if job.read_only else options


def _global_lines(job: Job, settings: Settings) -> Iterator[str]:
    yield f"ioengine={settings.engine_name}"
    yield from settings.plugin.lines if settings.plugin else ()
    yield f"filename={file_name(target_of(job.target, settings))}"
    yield "cmd_type=nvme" if settings.engine == "io_uring_cmd" else "direct=1"
    yield "thread=1"  # its death ends all I/O; processes would live on
    yield from ("allow_file_create=0", "invalidate=0", "exitall_on_error=1")
    yield f"randseed={job.seed}"
    yield from _time_lines(job)
    # The total latency is what other backends measure; the streams stay apart.
    yield from ("lat_percentiles=1", "clat_percentiles=0", "group_reporting=0")


def _time_lines(job: Job) -> Iterator[str]:
    if job.run_ns is not None:
        yield f"runtime={duration(job.run_ns)}"
        if job.passes is None and (job.limit_bytes is None or len(job.streams) > 1):
            yield "time_based=1"
    elif job.passes is None and len(job.streams) > 1:
        yield from ("runtime=3650d", "time_based=1")  # ended by a count of the bytes
    if job.warmup_ns:
        yield f"ramp_time={duration(job.warmup_ns)}"


def _part_lines(job: Job, stream: JobStream) -> Iterator[str]:
    """A job's own time, which counts from its delayed start and its warm-up."""
    if stream.starts_ns:
        yield f"startdelay={duration(stream.starts_ns)}"
    if job.run_ns is not None and stream.own_ns(job.run_ns) < job.run_ns:
        yield f"runtime={duration(stream.own_ns(job.run_ns))}"


def duration(time_ns: int) -> str:
    """A time as fio reads it: seconds, else ms, else us, rounded up."""
    if time_ns % 1_000_000_000 == 0:
        return f"{time_ns // 1_000_000_000}s"
    if time_ns % MS_NS == 0:
        return f"{time_ns // MS_NS}ms"
    return f"{-(-time_ns // US_NS)}us"


def target_of(path: str, settings: Settings) -> str:
    """The character device beside an NVMe namespace, where the engine wants that."""
    if settings.plugin:
        return settings.plugin.target
    if settings.engine != "io_uring_cmd":
        return path
    found = re.fullmatch(r"/dev/nvme(\d+n\d+)", path)
    if not found:
        raise BackendError(
            f"the engine io_uring_cmd needs an NVMe namespace such as /dev/nvme0n1, "
            f"not {path}; choose the engine io_uring"
        )
    return f"/dev/ng{found[1]}"


def file_name(path: str) -> str:
    """A target as a job file names it. Raises BackendError.

    A colon parts names, a dollar sign is expanded, and a comment cuts the name:
    fio would do the I/O on what is left of it, if there is such a file.
    """
    if re.search(r"[$\\\n\r;#]", path) or path != path.strip() or not Path(path).name:
        raise BackendError(
            f"fio cannot open a target with the name {path!r}; rename it"
        )
    return path.replace(":", "\\:")
