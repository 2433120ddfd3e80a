"""What a diagnostic's help says to do, done: offered only where the checker agrees.

A help is words; what it means for the text is guessed, tried, and kept if the
diagnostic is gone and no other has come in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.core.value import Value
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.mistakes.mistakes import mistakes
from ioplan.language.syntax.source import Span
from ioplan.lsp.document import Document
from ioplan.lsp.edits import Edit, applied

MEANT = re.compile(r"did you mean '([^']+)'\?")
HELPED = re.compile(r"did you mean ((?:(?! or \b|\?).)+)\?")
WRITE = re.compile(
    r"(?:write|add to it|for example|add|name it)(?: for example)?: ?(.+)"
)
LIKE = re.compile(r"for example (.+)")
QUOTED = re.compile(r"'([^']*)'")
MOST_TRIED = 40


class Fix(Value):
    """A change that takes a diagnostic away."""

    title: str
    diagnostic: Diagnostic
    edits: tuple[Edit, ...]


def fixes(document: Document, start: int, end: int) -> Iterator[Fix]:
    """The changes for all that is wrong in a range."""
    tried = 0
    for one in document.diagnostics:
        if document.path_of(one.span.source) != document.path:
            continue
        if one.span.start <= end and start <= one.span.end and tried < MOST_TRIED:
            tried += 1
            yield from _fixes_of(one, document)


def _fixes_of(one: Diagnostic, document: Document) -> Iterator[Fix]:
    if one.severity == "warning":
        yield from _accepting(one, document)
        return
    for title, edit in _guesses(one, document.text):
        if _helps(edit, one, document):
            yield Fix(title, one, (edit,))
            return


def _accepting(one: Diagnostic, document: Document) -> Iterator[Fix]:
    """An `accept` line for a warning that is meant so."""
    plan = document.plan
    found = [m for m in mistakes(plan) if m.run.span == one.span] if plan else []
    kinds = dict.fromkeys(m.kind for m in found if m.text == one.message)
    for kind in kinds:
        at = _behind_title(document)
        edit = Edit(at, at, f'accept "{kind}"\n')
        yield Fix(f'accept "{kind}"', one, (edit,))


def _behind_title(document: Document) -> int:
    """The row after the plan's title, or the start."""
    found = re.search(r'^plan\s*"[^"\n]*"[^\n]*\n', document.text, re.M)
    return found.end() if found else 0


def _guesses(one: Diagnostic, text: str) -> Iterator[tuple[str, Edit]]:
    """What the help may mean, the most likely first."""
    start, end = one.span.start, one.span.end
    for meant in MEANT.findall(one.message):
        word = QUOTED.search(one.message)
        at = text.find(word[1], start, end) if word else -1
        if word and at >= 0:
            yield f"write {meant}", Edit(at, at + len(word[1]), meant)
        yield f"write {meant}", Edit(start, end, meant)
    for meant in (*HELPED.findall(one.help), *HELPED.findall(one.message)):
        yield f"write {meant}", Edit(start, end, meant)
    yield from _by_words(one, text)
    for written in WRITE.findall(one.help):
        yield from _written(written.strip(), one.span, text)
    for written in LIKE.findall(one.help):
        yield f"write {written}", Edit(start, end, written)


def _by_words(one: Diagnostic, text: str) -> Iterator[tuple[str, Edit]]:
    """Helps that say what to do."""
    start, end, help = one.span.start, one.span.end, one.help
    if help.startswith("put a }"):
        at = len(text[: end if "at the end" in help else start].rstrip())
        yield "close the block", Edit(at, at, "\n}" if "\n" in text[:at] else " }")
    if (
        "keep one of them" in help
        or "leave the" in help
        or "is not allowed" in one.message
    ):
        before = text[:start].rstrip()
        first = len(before) - 1 if before.endswith(",") else start
        yield "remove it", Edit(first, end, "")
        rest = re.compile(r"\s*,?\s*").match(text, end)
        yield "remove it", Edit(start, rest.end() if rest else end, "")
    if "comma before" in one.message:
        at = len(text[:start].rstrip())
        yield "put a comma before it", Edit(at, at, ",")
    if 'end it with "' in help:
        row = text.find("\n", start)
        at = len(text[: row if row >= 0 else len(text)].rstrip())
        yield 'close the text with "', Edit(at, at, '"')
    if help.startswith("give the file a prefix"):
        yield "give the file a prefix", Edit(end, end, " as other")


def _written(written: str, span: Span, text: str) -> Iterator[tuple[str, Edit]]:
    """`write: …` and `add: …`: in the place of it, of its clause, or behind it."""
    title = f"write {written}"
    yield title, Edit(span.start, span.end, written)
    for start in _clause_starts(text, span.start):
        for end in _clause_ends(text, span.end):
            yield title, Edit(start, end, written)
    at = len(text[: span.end].rstrip())
    for joint in (" ", ", ", "\n  "):
        yield f"add {written}", Edit(at, at, joint + written.removeprefix(", "))
    brace = text.rfind("}", 0, span.end)
    if brace > span.start:
        yield f"add {written}", Edit(brace, brace, f"  {written}\n")


def _clause_starts(text: str, at: int) -> Iterator[int]:
    """Where the clause or the statement around a place may begin."""
    row = text.rfind("\n", 0, at) + 1
    for found in reversed(list(re.finditer(r"[\w\"]", text[row:at]))):
        if found.start() == 0 or not text[row + found.start() - 1].isalnum():
            yield row + found.start()


def _clause_ends(text: str, at: int) -> Iterator[int]:
    row = text.find("\n", at)
    for found in re.finditer(
        r",|\s*$|\s+(?=for\b)", text[at : row if row >= 0 else None]
    ):
        yield at + found.start()


def _helps(edit: Edit, one: Diagnostic, document: Document) -> bool:
    """Whether the diagnostic is gone after a change, and no other has come."""
    tried = applied(document.text, [edit])
    if tried == document.text or "…" in edit.text:
        return False
    after = Document(document.path, tried, document.workspace).examined.errors
    before = document.examined.errors
    return len(after) < len(before) and {_key(d) for d in after} <= {
        _key(d) for d in before
    }


def _key(one: Diagnostic) -> str:
    return re.sub(r"line \d+, column \d+", "", one.message)
