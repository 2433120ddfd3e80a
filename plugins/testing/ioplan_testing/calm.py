"""Measurements beside other programs: what they need, and whether they had it."""

from __future__ import annotations

import time
from collections.abc import Callable

ATTEMPTS = 3
IDLE_MS = 50
NAP_S = 0.001
PROMPT_MS = 4.0
"""A thread that sleeps gets a CPU back so soon, if nothing else wants it."""
PATIENCE_S = 1.0


def calmly(measured: Callable[[int], None], idle_ms: int = IDLE_MS) -> None:
    """Measure up to three times, as other programs may disturb: a defect spoils each.

    An attempt begins once a thread has got a CPU promptly for `idle_ms`. On a machine
    that does not come to rest it begins too, and its failure says what was not met.
    `measured` is told how often that was before.
    """
    for number in range(ATTEMPTS):
        delay_ms = delay_at_rest(idle_ms)
        try:
            return measured(number)
        except AssertionError as error:
            delay_ms = max(delay_ms, longest_delay(idle_ms))
            if delay_ms > PROMPT_MS:
                error.add_note(unmet(idle_ms, delay_ms))
            if number == ATTEMPTS - 1:
                raise


def unmet(idle_ms: int, delay_ms: float) -> str:
    """What the machine was not."""
    return (
        f"NEED NOT MET: it needs a CPU that is idle for {idle_ms} ms, but just before "
        f"or after it a thread waited {delay_ms:.1f} ms for one, and not {PROMPT_MS:g} "
        "ms at most"
    )


def delay_at_rest(idle_ms: int, most_s: float = PATIENCE_S) -> float:
    """Wait for rest, but not for ever; the longest delay of the last `idle_ms`."""
    until_s = time.monotonic() + most_s
    while (delay_ms := longest_delay(idle_ms)) > PROMPT_MS:
        if time.monotonic() > until_s:
            break
    return delay_ms


def longest_delay(length_ms: int) -> float:
    """In ms, how late a thread woke up at worst that slept again and again."""
    longest_s, until_s = 0.0, time.monotonic() + length_ms / 1000
    while (began_s := time.monotonic()) < until_s:
        time.sleep(NAP_S)
        longest_s = max(longest_s, time.monotonic() - began_s - NAP_S)
    return longest_s * 1000
