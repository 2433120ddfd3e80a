"""What is meant but spelled otherwise: `1 minute`, `70:30`, `zipf:1.1`, `from 1 to 8`.

The text is read on as if it were spelled right, so that all else is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.errors.stop import Stop
from ioplan.language.syntax.grammar import CLAUSE_WORDS

NUMBER_BEFORE = re.compile(r"(?<![\w./])(\d[\d_.]*)(\s*)\Z")
PERCENT_BEFORE = re.compile(r"(?<![\w./])(\d{1,3})\s*%\s*\Z")
WORD_BEFORE = re.compile(r"([A-Za-z]\w*)\s*\Z")
VALUE = re.compile(r"\s*([\w.%]+)")
BOUNDS = re.compile(r"from\s+([\w.%]+)\s+to\s+([\w.%]+)")
ROUNDS = re.compile(r"\brounds\s+\Z")
SEEK = re.compile(r"\bseek\s+\w+\s+\w+\s*\Z")
UNITS = {
    **dict.fromkeys(("us", "usec", "usecs", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("percent", "pct"), "%"),
    **dict.fromkeys(("kb", "kilobyte", "kilobytes"), "KB"),
    **dict.fromkeys(("mb", "megabyte", "megabytes"), "MB"),
    **dict.fromkeys(("gb", "gigabyte", "gigabytes"), "GB"),
    **dict.fromkeys(("tb", "terabyte", "terabytes"), "TB"),
}
READS, WRITES = ("read", "reads"), ("write", "writes")


class Respelling(Struct, frozen=True):
    """The error, and what the text is taken for from a place to another."""

    diagnostic: Diagnostic
    start: int
    end: int
    text: str

    def applied(self, text: str) -> str | None:
        """The text, as long as before; None where it has no room."""
        room = self.end - self.start
        if len(self.text) > room:
            return None
        return text[: self.start] + self.text.ljust(room) + text[self.end :]


def respelling(stop: Stop) -> Respelling | None:
    """What is meant at a place where the text cannot go on."""
    return next((found for one in KNOWN for found in one(stop)), None)


def _unit(stop: Stop) -> Iterator[Respelling]:
    """`1 minute`."""
    number = NUMBER_BEFORE.search(stop.text, 0, stop.start)
    unit = UNITS.get(stop.word.lower())
    if number and unit:
        yield _made(
            stop, f"unknown unit {stop.word!r}", f"{number[1]}{unit}", unit, stop.start
        )


def _mix(stop: Stop) -> Iterator[Respelling]:
    """`70:30`."""
    reads = NUMBER_BEFORE.search(stop.text, 0, stop.start)
    writes = VALUE.match(stop.text, stop.end)
    if stop.word == ":" and reads and writes and writes[1].isdigit():
        text = f"{reads[1]}/{writes[1]}"
        yield _made(stop, "a mix has no ':'", text, "/", stop.start)


def _share(stop: Stop) -> Iterator[Respelling]:
    """`70% reads`."""
    found = PERCENT_BEFORE.search(stop.text, 0, stop.start)
    if found and stop.word in (*READS, *WRITES) and int(found[1]) <= 100:
        share = int(found[1])
        reads = share if stop.word in READS else 100 - share
        text = f"{reads}/{100 - reads}"
        message = "the share of reads and writes is a mix"
        yield _made(stop, message, text, text, found.start(1))


def _value(stop: Stop) -> Iterator[Respelling]:
    """`zipf:1.1`, `qd:8`."""
    word = WORD_BEFORE.search(stop.text, 0, stop.start)
    value = VALUE.match(stop.text, stop.end)
    if stop.word == ":" and word and value and word[1] in CLAUSE_WORDS:
        text = f"{word[1]} {value[1]}"
        yield _made(stop, "a clause has no ':'", text, " ", stop.start)


def _bounds(stop: Stop) -> Iterator[Respelling]:
    """`qd from 1 to 128`."""
    found = BOUNDS.match(stop.text, stop.start)
    if found and "IN" in stop.accepted:
        low, high = found.groups()
        seeks = SEEK.search(stop.text, 0, stop.start)
        text = f"in {low}..{high}" if seeks else f"in {low}, {high}"
        write = text if seeks else f"in {low}..{high} doubling"
        message = "a range has no 'from' and 'to'"
        yield _made(stop, message, write, text, stop.start, found.end())


def _rounds(stop: Stop) -> Iterator[Respelling]:
    """`rounds 5`."""
    found = ROUNDS.search(stop.text, 0, stop.start)
    if found and stop.word.isdigit():
        write = (
            f"repeat {stop.word} {{ run … }}, or: rounds until steady iops, at most "
        )
        message = "rounds go on until something is steady"
        yield _made(stop, message, write + stop.word, "", found.start())


def _made(
    stop: Stop, message: str, write: str, text: str, start: int, end: int = 0
) -> Respelling:
    end = end or stop.end
    diagnostic = Diagnostic(message, stop.span(start, end), f"write: {write}")
    return Respelling(diagnostic, start, end, text)


KNOWN: tuple[Callable[[Stop], Iterator[Respelling]], ...] = (
    *(_unit, _mix, _share, _value, _bounds, _rounds),
)
