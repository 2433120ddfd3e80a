"""What a diagnostic's help says to do, done: offered only where the checker agrees.

A help is words. What it means for the text is guessed, tried, and kept if the
diagnostic is gone and no other has come in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import accumulate, islice

from msgspec import Struct

from ioplan.language import Diagnostic, PlanError, format_tree
from ioplan.language.lints.lints import lints
from ioplan.language.syntax import tree
from ioplan_editor.document import Document

# Changes of a text: as few as make it into another one.


class Edit(Struct, frozen=True):
    """Characters `start` to `end` (exclusive) become another text."""

    start: int
    end: int
    text: str


def applied(text: str, edits: list[Edit]) -> str:
    """The text after its changes."""
    for edit in sorted(edits, key=lambda one: -one.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def formatting(
    document: Document, start: int = 0, end: int | None = None
) -> list[Edit]:
    """What puts a text in its layout, or the rows of it that touch a range.

    Nothing where it has syntax errors: what cannot be read cannot be laid out.
    """
    text = document.text
    if document.syntax_errors:
        return []
    try:
        wanted = format_tree(document.source, document.file)
    except PlanError:
        return []
    last = len(text) if end is None else end
    changes = _changes(text, wanted)
    return [one for one in changes if one.start <= last and one.end >= start]


def _changes(text: str, wanted: str) -> Iterator[Edit]:
    """Row by row."""
    before, after = text.splitlines(keepends=True), wanted.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, before))]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield Edit(starts[a], starts[b], "".join(after[c:d]))


# What the help of a diagnostic may mean for the text; `fixes` tries each.
#
# A help is written for people: it names a word, a value, or a clause with an example.

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


MOST_TRIED = 24
"""The most fixes tried of one diagnostic; each is a check of its statement."""
MOST_OFFERED = 3
MOST_FIXED = 10
"""Diagnostics of one range."""
PLACES = re.compile(r"(?:in )?line \d+(?:, column \d+)?")


class Fix(Struct, frozen=True):
    """A change that takes a diagnostic away."""

    title: str
    diagnostic: Diagnostic
    edits: tuple[Edit, ...]


def fixes(document: Document, start: int, end: int) -> Iterator[Fix]:
    """The changes for all that is wrong in a range."""
    found = (
        one
        for one in document.diagnostics
        if one.span.start <= end
        and start <= one.span.end
        and document.path_of(one.span.source) == document.path
    )
    for one in islice(found, MOST_FIXED):
        yield from fixes_of(one, document)


def fixes_of(one: Diagnostic, document: Document) -> Iterator[Fix]:
    """The changes that take one diagnostic away."""
    if one.severity == "warning":
        yield from _accepting(one, document)
        return
    around = _around(one, document)
    unique = {guess.edit: guess for guess in guesses(one, around.text)}
    tried = islice(unique.values(), MOST_TRIED)
    helping = (guess for guess in tried if _helps(guess, one, around))
    titles: set[str] = set()
    for guess in helping:
        if guess.title not in titles:
            yield Fix(guess.title, one, (guess.edit,))
        titles.add(guess.title)
        if len(titles) == MOST_OFFERED:
            return


def _accepting(one: Diagnostic, document: Document) -> Iterator[Fix]:
    """An `accept` line for a warning that is meant so."""
    plan = document.plan
    found = [m for m in lints(plan) if m.run.span == one.span] if plan else []
    for kind in dict.fromkeys(m.kind for m in found if m.text == one.message):
        at = _behind_title(document)
        edit = Edit(at, at, f'accept "{kind}"\n')
        yield Fix(f'accept "{kind}"', one, (edit,))


def _behind_title(document: Document) -> int:
    """The row after the plan's title, or the start."""
    found = re.search(r'^plan\s*"[^"\n]*"[^\n]*\n', document.text, re.M)
    return found.end() if found else 0


def _around(one: Diagnostic, document: Document) -> Document:
    """The document without the other tests, which would be checked each time."""
    text = document.text
    for test in document.items(tree.Test):
        apart = test.span.end < one.span.start or one.span.end < test.span.start
        if apart and not one.message.startswith("two tests"):
            start, end = test.span.start, test.span.end
            text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return Document(document.path, text, document.workspace)


def _helps(guess: Guess, one: Diagnostic, document: Document) -> bool:
    """Whether the diagnostic is gone after a change, and no other has come.

    Where a text can be parsed at last, what else is wrong with it may show.
    """
    tried = applied(document.text, [guess.edit])
    if tried == document.text:
        return False
    other = Document(document.path, tried, document.workspace)
    if one in document.syntax_errors:
        added = guess.title.startswith("add")
        return not added and len(other.syntax_errors) < len(document.syntax_errors)
    before, after = document.examined.errors, other.examined.errors
    if MORE.search(one.help) and len(after) == len(before):
        edit = guess.edit
        return not any(edit.start <= d.span.start <= edit.end for d in after)
    known = {_key(d) for d in before}
    return len(after) < len(before) and {_key(d) for d in after} <= known


def _key(one: Diagnostic) -> str:
    """What it says, wherever that is."""
    return PLACES.sub("", one.message)
