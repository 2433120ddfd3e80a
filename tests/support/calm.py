"""Tests that are measurements: what they need of the machine, and whether it had that."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from ioplan.testing.subject import calmly

NAP_S = 0.001
PROMPT_MS = 4.0
"""A thread that sleeps gets its CPU back so soon, if nothing else wants it."""
PATIENCE_S = 5.0

Test = Callable[..., None]


def needs_idle_cpu(ms: int) -> Callable[[Test], Test]:
    """Each attempt of the test waits until a CPU was idle for that long.

    It begins on a machine that does not come to rest, too, and then fails with what the
    machine was like.
    """

    def marked(test: Test) -> Test:
        @wraps(test)
        def measured(**fixtures: Any) -> None:
            calmly(lambda number: _attempt(test, ms, _own(fixtures, number)))

        return measured

    return marked


def _attempt(test: Test, ms: int, fixtures: dict[str, Any]) -> None:
    before_ms = delay_at_rest(ms)
    try:
        test(**fixtures)
    except AssertionError as error:
        after_ms = longest_delay(ms)
        for when, delay_ms in (("before", before_ms), ("after", after_ms)):
            if delay_ms > PROMPT_MS:
                error.add_note(
                    f"NOT MET: it needs a CPU that is idle for {ms} ms, but {when} it a "
                    f"thread waited {delay_ms:.1f} ms for one, more than {PROMPT_MS:g} ms"
                )
        raise


def delay_at_rest(ms: int, most_s: float = PATIENCE_S) -> float:
    """Wait for rest, so long at most; the longest delay of the last `ms`, in ms."""
    until_s = time.monotonic() + most_s
    while (delay_ms := longest_delay(ms)) > PROMPT_MS:
        if time.monotonic() > until_s:
            break
    return delay_ms


def longest_delay(ms: int) -> float:
    """In ms, how late a thread woke up at worst that slept again and again."""
    delays, until_s = [0.0], time.monotonic() + ms / 1000
    while (began_s := time.monotonic()) < until_s:
        time.sleep(NAP_S)
        delays.append(time.monotonic() - began_s - NAP_S)
    return max(delays) * 1000


def _own(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    """Each attempt has a folder of its own, if the test has any."""
    whole: Path | None = fixtures.get("tmp_path")
    if whole is None:
        return fixtures
    folder = whole / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}
