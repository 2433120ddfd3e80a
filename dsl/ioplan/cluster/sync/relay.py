"""Between the desk and a host's part: a worker passes lines on, both ways.

The part is a process of its own. Its input ends when the desk hangs up, or when the
worker is killed; then it ends its I/O.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import Any

from distributed.comm import Comm

OP = "ioplan_part"
MOST_LINE_BYTES = 64 << 20
ENDING_S = 40
"""A part waits for its backend, which it may have to kill; then the worker kills it."""


async def relay(comm: Comm, session: str) -> None:
    """Be the link until either side ends it."""
    words = (sys.executable, "-m", "ioplan.cli.workers.participant", session)
    part = await asyncio.create_subprocess_exec(
        *words,
        stdin=PIPE,
        stdout=PIPE,
        limit=MOST_LINE_BYTES,
        start_new_session=True,
    )
    both = [asyncio.create_task(one(comm, part)) for one in (_down, _up)]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        await asyncio.shield(asyncio.create_task(_end(part)))
        comm.abort()


async def _down(comm: Comm, part: Process) -> None:
    assert part.stdin
    while True:
        line: Any = await comm.read()
        part.stdin.write(line.encode() + b"\n")
        await part.stdin.drain()


async def _up(comm: Comm, part: Process) -> None:
    assert part.stdout
    async for line in part.stdout:
        await comm.write(line.decode().rstrip("\n"))


async def _end(part: Process) -> None:
    assert part.stdin
    with suppress(OSError):
        part.stdin.close()
    try:
        await asyncio.wait_for(part.wait(), ENDING_S)
    except TimeoutError:
        with suppress(ProcessLookupError):
            part.kill()
