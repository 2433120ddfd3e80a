"""Calls of the command line, each a process of its own.

What starts, judges or draws goes the way that a person's own call goes, so that the
guard is the same; a process that takes long or much memory leaves the pages alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from pydantic import ValidationError

from ioplan.results.compare import Comparison
from ioplan.results.store import is_address
from ioplan_lab.desk.errors import DeskError

AT_ONCE = 2
"""More wait: the desk may be a host that measures, too."""
USUAL_S = 60.0


class Done(Struct, frozen=True):
    """What a call came to."""

    code: int
    out: str
    err: str


class Calls:
    """Calls `python -m PROGRAM WORD…`, at most two at the same time."""

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        """`environment` is added to this process's own."""
        self.program = program
        self.environment = dict(environment)
        self._free = asyncio.Semaphore(AT_ONCE)

    async def call(
        self,
        words: Sequence[str],
        *,
        limit_s: float = USUAL_S,
        environment: Mapping[str, str] | None = None,
    ) -> Done:
        """Its exit code and what it printed. Raises DeskError after `limit_s`."""
        async with self._free:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", self.program, *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **self.environment, **(environment or {})},
                start_new_session=True,
            )
            try:
                out, err = await asyncio.wait_for(process.communicate(), limit_s)
            except TimeoutError:
                raise DeskError(
                    f"`ioplan {words[0]}` took more than {limit_s:.0f} s and was "
                    "stopped; run it at a shell"
                ) from None
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        return Done(process.returncode or 0, _text(out), _text(err))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def said(done: Done) -> str:
    """Why a call failed, without the word before it."""
    return done.err.strip().removeprefix("error: ") or f"exit code {done.code}"


# Two sides compared, by the command line.

LIMIT_S = 120.0


async def compared(
    calls: Calls, place: str, base: Sequence[str], new: Sequence[str]
) -> Comparison:
    """Sessions by their ids; `place` is the store's. Raises DeskError."""
    words = ["compare", ",".join(base), ",".join(new), "--format", "json"]
    if not is_address(place):
        words += ["--store", place]
    environment = {"IOPLAN_STORE": place}
    done = await calls.call(words, limit_s=LIMIT_S, environment=environment)
    try:
        return Comparison.model_validate_json(done.out)
    except ValidationError:
        raise DeskError(said(done)) from None
