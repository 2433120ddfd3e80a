"""What people write before they know the language, each with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from ioplan.core.retired import RETIRED_CLAUSES
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.errors.stop import Stop
from ioplan.language.foreign_words import WRITTEN, answer
from ioplan.language.syntax.source import Source, Span

# Recognises the input of another tool, of which one error is enough.

BLANK = re.compile(r"(?:[ \t]*(?:[#;*][^\n]*)?\n)*")
JOB_FILE = "a job file of fio"
KINDS = (
    (re.compile(r"\[[^\]\n]+\][ \t]*\n(?:[^\n]*\n)*?\s*\w+\s*="), JOB_FILE),
    (re.compile(r"fio[ \t]+(?:[^\n]*\s)?-"), "a command line of fio"),
    (re.compile(r"(?:f?sd|f?wd|f?rd|hd|general)=\w+"), "a parameter file of vdbench"),
)
FILES = ("a job file of fio", "a parameter file of vdbench")
IMPORT = "`ioplan import` converts the file to a plan; "
SETTING = re.compile(r"\b([a-z_]+)=([^\s,]+)")
SHOWN = 6


def foreign_file(source: Source) -> Diagnostic | None:
    """What to say of the whole text, if another tool wrote it or reads it."""
    start = BLANK.match(source.text).end()  # type: ignore[union-attr]
    for pattern, name in KINDS:
        if pattern.match(source.text, start):
            line = source.text.find("\n", start)
            span = Span(source, start, line if line >= 0 else len(source.text))
            help = (
                f"{IMPORT}{_help(source.text)}" if name in FILES else _help(source.text)
            )
            return Diagnostic(f"this is {name}, not a plan", span, help)
    return None


def _help(text: str) -> str:
    """Its own settings in a plan's words, the first few of them."""
    said = list(dict.fromkeys(_translated(text)))[:SHOWN]
    if not said:
        return 'a plan begins, for example, with test "Reads" { run random 4KiB 100/0 …'
    return f"in a plan, write: {'; '.join(said)}"


def _translated(text: str) -> Iterator[str]:
    for word, value in SETTING.findall(text):
        if word in WRITTEN:
            yield f"{word}={value}: {answer(word, value).partition(': ')[2]}"


Written = Callable[[re.Match[str], re.Match[str]], str]


class Attempt(Struct, frozen=True):
    """What stands before the place where a text cannot go on, and what there; `help`
    is made of both matches, and `message` names the word by default."""

    before: re.Pattern[str]
    here: re.Pattern[str]
    help: Written
    message: str = "unexpected {!r}"


def attempt(stop: Stop) -> Diagnostic | None:
    """What to say where a text stops, if it is one of these."""
    for one in ATTEMPTS:
        before = one.before.search(stop.text, 0, stop.start)
        here = one.here.match(stop.text, stop.start)
        if before and here:
            span = stop.span(stop.start, stop.end)
            return Diagnostic(
                one.message.format(stop.word), span, one.help(before, here)
            )
    return None


ATTEMPTS = (
    Attempt(
        re.compile(r"\b(qd|threads|size|rate|read)\s+\Z"),
        re.compile(r"\{([^{}]*)\}"),
        lambda before, here: f"to vary it: vary {before[1]} in {here[1].strip()}",
    ),
    Attempt(
        re.compile(r"\bvary\s+\w+\s+in\s[^\n{}]*[\w%]\s+\Z"),
        re.compile(r"\d[\w.%]*"),
        lambda _, here: f"write: , {here[0]}",
        "there is no comma before {!r}",
    ),
    Attempt(
        re.compile(r"\bchart\s+(p[\d.]+|iops|bandwidth|mean|max|min)\s+(over|by)\s+\Z"),
        re.compile(r"[a-z]\w*"),
        lambda before, here: f"write: chart lines {before[1]} {before[2]} {here[0]}",
    ),
    Attempt(
        re.compile(r"\btest\s+\"[^\"\n]*\"\s*\{[^{}]*\Z"),
        re.compile(r"precondition\b"),
        lambda *_: "before the test: precondition filled { … }; in it: after filled",
    ),
    Attempt(
        re.compile(r"\bprecondition\s+\Z"),
        re.compile(r"\{"),
        lambda *_: "it has a name: precondition filled { …",
    ),
    Attempt(
        re.compile(r"\b(test|plan|use)\s+\Z"),
        re.compile(r"\w+"),
        lambda before, here: f'write: {before[1]} "{here[0]}"',
    ),
    Attempt(
        re.compile(r"\b(?:expect|where)\s+(?:latency|lat|clat|latencies)\s+\Z"),
        re.compile(r"p\d[\d.]*|mean|max|min"),
        lambda _, here: f"latencies are meant by the metric itself: {here[0]}",
    ),
    Attempt(
        re.compile(r"\bseek\s+\Z"),
        re.compile(r"[a-z]\w*"),
        lambda _, here: f"write: seek highest {here[0]} in A..B where p99 <= 1ms",
    ),
    *(
        Attempt(
            re.compile(rf"\b{clause}\s+\Z".replace(" ", r"\s+")),
            re.compile(r"\w+"),
            lambda *_, help=help: help,
            f"'{clause}' was removed",
        )
        for clause, help in RETIRED_CLAUSES.items()
    ),
)
