"""Buffers in huge pages, where ioplan's engine has its own in them as well.

A disk of a virtual machine gave 2.4 GB/s into huge pages and 1.0 GB/s into small ones:
random reads of 128 KiB at queue depth 32, by fio and by ioplan's engine alike. fio has
an option for reserved ones only. Its memory is malloc's, which glibc from 2.35 on takes
from transparent huge pages if it is told to, and `iomem_align` puts fio's buffers
behind the first of them, which malloc's own header has begun.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ioplan.job import Job, JobStream
from ioplan_fio.streams import PAGE_BYTES, aligned, used_sizes

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
