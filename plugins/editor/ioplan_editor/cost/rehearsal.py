"""A rehearsal of one test on the simulated drive, as the command line does it."""

from __future__ import annotations

import asyncio
import sys
from glob import escape
from pathlib import Path

from ioplan_editor.document import Document

NOT_SAVED = "save the plan first: what is rehearsed is its file"
LONGEST_S = 120.0


async def rehearsal(document: Document, title: str, program: str) -> str:
    """The table of a test's steps, or why there is none.

    `program` is the module of the command line. It runs in a process of its own: it
    may take a while, and can be ended.
    """
    if _on_disk(document.path) != document.text:
        return NOT_SAVED
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", program, "plan", str(document.path)),
        *("--rehearse", "--test", escape(title)),
        *("--profile", document.profile),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(started.communicate(), LONGEST_S)
    except TimeoutError:
        return f"the rehearsal was ended after {LONGEST_S:g} s"
    finally:
        if started.returncode is None:
            started.kill()
    return said.decode()


def _on_disk(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
