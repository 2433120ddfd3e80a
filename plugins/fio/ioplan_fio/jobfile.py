"""A run as a fio job file, such as a person would write it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from ioplan.backends import BackendError, Job, JobStream, Model, did_you_mean
from ioplan_fio.section import replay_section, section_lines
from ioplan_fio.streams import PAGE_BYTES, aligned, used_sizes

# What a user may choose of this backend, as `--option NAME=VALUE` or in a lab.

Engine = Literal["io_uring", "libaio", "psync", "io_uring_cmd"]
ENGINES: tuple[str, ...] = get_args(Engine)
NAMES = ("engine", "path", "version")
VERSION = re.compile(r"\d+(\.\d+)+")


class Plugin(Model):
    """An engine from outside fio. `library` is preloaded into it; `target` is what
    the engine calls the job's target; `lines` are the global ones that it wants.
    """

    name: str
    library: str
    target: str
    lines: tuple[str, ...] = ()


class Settings(Model):
    """fio's I/O engine, and the program where it is not the one on PATH.

    `version` is the one that a plan is to fit, where the program is elsewhere. Other
    backends may give a `plugin`, which then takes the engine's place.
    """

    engine: Engine = "io_uring"
    path: str | None = None
    version: tuple[int, ...] = ()
    plugin: Plugin | None = None

    @property
    def engine_name(self) -> str:
        """The engine as a job file names it."""
        return self.plugin.name if self.plugin else self.engine


def settings_of(options: dict[str, Any]) -> Settings:
    """The options, checked. Raises BackendError."""
    for name in options:
        if name not in NAMES:
            raise BackendError(
                f"the backend 'fio' has no option {name!r}{did_you_mean(name, NAMES)}; "
                f"it has: {', '.join(NAMES)}"
            )
    engine = options.get("engine", "io_uring")
    if engine not in ENGINES:
        raise BackendError(
            f"the backend 'fio' has no engine {engine!r}"
            f"{did_you_mean(str(engine), ENGINES)}; it has: {', '.join(ENGINES)}"
        )
    path = options.get("path")
    if not isinstance(path, str | None):
        raise BackendError(f"option path of 'fio' is a program's name, not {path!r}")
    return Settings(engine=engine, path=path, version=_version(options.get("version")))


def _version(text: Any) -> tuple[int, ...]:
    """The version in `--option version=3.38`; empty if none. Raises BackendError."""
    if text is None:
        return ()
    if not isinstance(text, str) or not VERSION.fullmatch(text):
        raise BackendError(
            f"option version of 'fio' is one such as 3.38, as text, not {text!r}"
        )
    return tuple(map(int, text.split(".")))


# Buffers in huge pages, where ioplan's engine has its own in them as well.
#
# A disk of a virtual machine gave 2.4 GB/s into huge pages and 1.0 GB/s into small
# ones: random reads of 128 KiB at queue depth 32, by fio and by ioplan's engine
# alike. fio has an option for reserved ones only. Its memory is malloc's, which glibc
# from 2.35 on takes from transparent huge pages if it is told to, and `iomem_align`
# puts fio's buffers behind the first of them, which malloc's own header has begun.

HUGE_BYTES = 2 << 20
VARIABLE, TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"


def fills_huge_pages(stream: JobStream) -> bool:
    """Whether a thread's buffers are that large; the same rule as the engine's."""
    each_bytes = aligned(used_sizes(stream)[-1], PAGE_BYTES)
    return stream.qd * each_bytes >= HUGE_BYTES


def huge_page_lines(stream: JobStream) -> Iterator[str]:
    """What a section says of it."""
    if fills_huge_pages(stream):
        yield "iomem_align=2m"


def huge_page_environment(job: Job) -> dict[str, str]:
    """What fio needs in its environment for them."""
    if not any(map(fills_huge_pages, job.streams)):
        return {}
    before = [text] if (text := os.environ.get(VARIABLE)) else []
    return {VARIABLE: ":".join([*before, TUNABLE])}


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
