"""Between the coordinator and a participant: a worker passes lines on, both ways.

The participant is a process of its own. Its input ends when the coordinator
disconnects, or when the worker is killed; then it ends its I/O.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from distributed.comm import Comm

OP = "ioplan_part"
MAX_LINE_BYTES = 64 << 20
END_S = 40
"""A participant waits for its backend, which it may have to kill; then it is killed."""


Handler = Callable[[Comm, str], Awaitable[None]]


def relay_to(program: str) -> Handler:
    """A worker's handler of `OP`; `program` is the module that a participant runs."""

    async def relay(comm: Comm, session: str) -> None:
        await _relay(comm, session, program)

    return relay


async def _relay(comm: Comm, session: str, program: str) -> None:
    """Pass lines on until either side ends."""
    participant = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", program, session),
        stdin=PIPE,
        stdout=PIPE,
        limit=MAX_LINE_BYTES,
        start_new_session=True,
    )
    both = [asyncio.create_task(one(comm, participant)) for one in (_down, _up)]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        await asyncio.shield(asyncio.create_task(_end(participant)))
        comm.abort()


async def _down(comm: Comm, participant: Process) -> None:
    assert participant.stdin
    while True:
        line: Any = await comm.read()
        participant.stdin.write(line.encode() + b"\n")
        await participant.stdin.drain()


async def _up(comm: Comm, participant: Process) -> None:
    assert participant.stdout
    async for line in participant.stdout:
        await comm.write(line.decode().rstrip("\n"))


async def _end(participant: Process) -> None:
    assert participant.stdin
    with suppress(OSError):
        participant.stdin.close()
    try:
        await asyncio.wait_for(participant.wait(), END_S)
    except TimeoutError:
        with suppress(ProcessLookupError):
            participant.kill()
