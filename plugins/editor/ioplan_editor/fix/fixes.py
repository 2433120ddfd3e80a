"""What a diagnostic's help says to do, done: offered only where the checker agrees.

A help is words. What it means for the text is guessed, tried, and kept if the
diagnostic is gone and no other has come in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.lints.lints import lints
from ioplan.language.syntax import tree
from ioplan_editor.document import Document
from ioplan_editor.fix.edits import Edit, applied
from ioplan_editor.fix.guesses import MORE, Guess, guesses

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
