"""What the help of a diagnostic may mean for the text; `fixes` tries each.

A help is written for people: it names a word, a value, or a clause with an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from ioplan.language.errors.diagnostic import Diagnostic
from ioplan_editor.fix.edits import Edit

QUOTED = re.compile(r"'([^']*)'")
MEANT = re.compile(r"did you mean '([^']+)'\?")
VALUE = re.compile(r"did you mean ([^?]+)\?")
EXAMPLE = re.compile(
    r"(?:is written as:|write(?: reads/writes)?:|add to it:|add(?: for example)?:|"
    r"select it:|add a condition:|to vary it:|for example:?|such as(?= \d)|"
    r"write(?: for example)?|use)"
    r" (.+)"
)
LISTED = re.compile(r"(?:expected|allowed here|its values are|varied are)[^':]*:? (.+)")
OR = re.compile(r",? or:? ")
MORE = re.compile(r" \(and \d+ more in this list\)$")
ASIDE = re.compile(r"\s*\([^)]*\)|;.*$| to (?:read|write)\b.*$| if it .*$")
RANGE = re.compile(r"[^\s,]+\.\.[^\s,]+")
WORD = re.compile(r"[^\s,{}]+")
MOST = 4
"""Places of a row at which something may be put in."""


class Guess(Struct, frozen=True):
    """A change, and what it is called; a removal has to leave no new error."""

    title: str
    edit: Edit
    removes: bool = False


def guesses(one: Diagnostic, text: str) -> Iterator[Guess]:
    """All that a help may mean, the most likely first."""
    start, end, help = one.span.start, one.span.end, MORE.sub("", one.help)
    for meant in MEANT.findall(one.message):
        word = QUOTED.search(one.message)
        at = text.find(word[1], start, end) if word else -1
        yield (
            _replace(at, at + len(word[1]), meant)
            if word and at >= 0
            else _replace(start, end, meant)
        )
    yield from _structure(one, text)
    for written in _written(help):
        yield from _placed(written, start, end, text)
    for written in _listed(help):
        yield _replace(start, end, written)
    if (
        re.search(r"\b(?:leave|remove|keep one)\b", help)
        or "is not allowed" in one.message
    ):
        yield from _without(start, end, text)


def _replace(start: int, end: int, text: str) -> Guess:
    return Guess(f"write {text}", Edit(start, end, text))


def _written(help: str) -> Iterator[str]:
    """The examples that a help gives, each alternative."""
    plan_text = [help] if re.search(r"\d", help) else []
    found = [*VALUE.findall(help), *EXAMPLE.findall(help)] or plan_text
    for example in found:
        for one in OR.split(example):
            plain = ASIDE.sub("", one).strip()
            if plain and "…" not in plain and "NAME" not in plain:
                yield plain


def _listed(help: str) -> Iterator[str]:
    """The words that a help lists."""
    for words in LISTED.findall(help):
        quoted = QUOTED.findall(words)
        yield from quoted or (word.strip() for word in words.split(","))


def _placed(written: str, start: int, end: int, text: str) -> Iterator[Guess]:
    """An example in the place of what is wrong, of its clause, or behind it."""
    yield _replace(start, end, written)
    yield from (
        _replace(found.start(), found.end(), written)
        for found in RANGE.finditer(text, start, end)
        if ".." in written
    )
    row_end = text.find("\n", start)
    for last in islice(_clause_ends(text, end), MOST):
        yield _replace(start, last, written)
    for first in islice(_words_before(text, start), MOST):
        yield _replace(first, end, written)
    for found in islice(WORD.finditer(text, start, max(end, row_end)), MOST):
        joint = ", " if written[:1].isalpha() else " "
        for gap in dict.fromkeys((" ", joint)):
            edit = Edit(found.end(), found.end(), gap + written.removeprefix(", "))
            yield Guess(f"add {written}", edit)
    at = len(text[:end].rstrip())
    for gap in (" ", ", ", "\n  "):
        edit = Edit(at, at, gap + written.removeprefix(", "))
        yield Guess(f"add {written}", edit)


def _words_before(text: str, at: int) -> Iterator[int]:
    """The starts of the words before a place, in its row, the nearest first."""
    row = text.rfind("\n", 0, at) + 1
    yield from (row + hit.start() for hit in reversed([*WORD.finditer(text[row:at])]))


def _clause_ends(text: str, at: int) -> Iterator[int]:
    """Where a clause may end behind a place, in its row."""
    row = text.find("\n", at)
    rest = text[at : row if row >= 0 else len(text)]
    for found in re.finditer(r",|\s*$|\s+(?=for\b|\})", rest):
        yield at + found.start()


def _structure(one: Diagnostic, text: str) -> Iterator[Guess]:
    """Braces, commas, quotes and prefixes."""
    start, end, help = one.span.start, one.span.end, one.help
    if help.startswith("put a }"):
        at = len(text[: end if "at the end" in help else start].rstrip())
        yield Guess(
            "close the block", Edit(at, at, "\n}" if "\n" in text[:at] else " }")
        )
    if "comma before" in one.message:
        at = len(text[:start].rstrip())
        yield Guess("put a comma before it", Edit(at, at, ","))
    if 'end it with "' in help:
        row = text.find("\n", start)
        at = len(text[: row if row >= 0 else len(text)].rstrip())
        yield Guess('close the text with "', Edit(at, at, '"'))
    if help.startswith("give the file a prefix"):
        yield Guess("give the file a prefix", Edit(end, end, " as other"))


def _without(start: int, end: int, text: str) -> Iterator[Guess]:
    """Without what is wrong, and the comma beside it."""
    before = text[:start].rstrip()
    first = len(before) - 1 if before.endswith(",") else start
    yield Guess("remove it", Edit(first, end, ""), removes=True)
    behind = re.compile(r"\s*,?\s*").match(text, end)
    last = behind.end() if behind else end
    yield Guess("remove it", Edit(start, last, ""), removes=True)
