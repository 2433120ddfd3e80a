"""What fio with SPDK's plugin cannot do exactly: fio's gaps, and SPDK's own."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from ioplan.backends import BackendError, Gap, Job, JobStream
from ioplan_fio.gaps import SPDK, GapContext, find_gaps
from ioplan_fio.program import OLDEST, find_program
from ioplan_fio.streams import used_sizes
from ioplan_spdk.bdevperf.gaps import BUFFER_SHARE, no_discards
from ioplan_spdk.bdevperf.script import MIB
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.target_spec import target_spec

POOLS_MIB = 192
"""SPDK's pools of buffers: 8192 of 8 KiB, and 1024 of 132 KiB, all but a little."""


def plugin_gaps(job: Job, options: SpdkOptions) -> list[Gap]:
    """All of them."""
    found = find_gaps(GapContext(job, SPDK, _version(options)))
    return (
        found
        + [gap for s in job.streams for gap in _sizes(job, s)]
        + [gap for s in job.streams for gap in _trims(job, s)]
        + _memory(job, options)
    )


def _version(options: SpdkOptions) -> tuple[int, ...]:
    """The version of the fio that would run; without one, that with most gaps."""
    try:
        return find_program(options.fio).version
    except BackendError:
        return OLDEST


def _sizes(job: Job, stream: JobStream) -> Iterator[Gap]:
    for size_bytes in used_sizes(stream):
        if size_bytes % job.block_bytes:
            reason = (
                f"{size_bytes} B is not a multiple of the block of {job.block_bytes} B"
            )
            yield Gap(stream=stream.name, field="size", reason=reason)
    if stream.align_bytes and stream.align_bytes % job.block_bytes:
        reason = f"SPDK supports only multiples of the block of {job.block_bytes} B"
        yield Gap(stream=stream.name, field="align", reason=reason)


def _trims(job: Job, stream: JobStream) -> Iterator[Gap]:
    reason = no_discards(target_spec(job.target))
    if stream.trim_percent == 100 and reason:
        yield Gap(stream=stream.name, field="trim", reason=reason)


def _memory(job: Job, options: SpdkOptions) -> list[Gap]:
    """All buffers are in SPDK's memory, as is a target in memory.

    SPDK's own pools take the rest: of too little of it fio dies without a word.
    """
    spec = target_spec(job.target)
    held = spec.size_bytes if spec.kind in ("malloc", "delay") else 0
    needed = sum(s.qd * s.threads * used_sizes(s)[-1] for s in job.streams)
    least = ceil((needed + held) / BUFFER_SHARE / MIB) + (POOLS_MIB if held else 0)
    if least <= options.memory_mib:
        return []
    what = f"{spec.path} and the buffers need" if held else "its buffers need"
    reason = f"{what} --option memory_mib={least} or more"
    return [Gap(stream=job.streams[0].name, field="qd", reason=reason)]
