"""Recognises the input of another tool, of which one error is enough."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.foreign_words import WRITTEN, answer
from ioplan.language.syntax.source import Source, Span

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
