"""How the clause or statement that is being written goes on."""

from __future__ import annotations

import re

from msgspec import Struct

from ioplan.language import clause_table, statement_table
from ioplan_editor.complete.keywords import clause_text
from ioplan_editor.complete.place import Place
from ioplan_editor.complete.wanted import statement_at
from ioplan_editor.document import Document

FORM = re.compile(r"`([^`]*)`")


class Signature(Struct, frozen=True):
    """The forms of a clause or a statement; `active` is the one that is written."""

    forms: list[str] = []
    about: str = ""
    active: int = 0


def signature(document: Document, offset: int) -> Signature | None:
    """The forms of the innermost clause before the cursor, else of the statement."""
    place = Place(document.text, offset)
    if place.in_comment() or place.in_text() is not None:
        return None
    words = statement_at(place).texts
    if words[-1:] == [","]:
        words = words[:1]
    for first in range(len(words) - 1, -1, -1):
        for phrase in (" ".join(words[first : first + 2]), words[first]):
            found = _forms(phrase)
            if found:
                return _with_active(found, words[first:])
    return None


def _forms(word: str) -> Signature | None:
    clause = clause_table.BY_WORD.get(word)
    if clause:
        row = clause.reference[0] if clause.reference else ""
        forms = [form for form in FORM.findall(row) if "…" not in form]
        forms += [one for one in clause.forms.values() if one not in forms]
        return Signature(forms, clause_text(clause)) if forms else None
    statement = statement_table.BY_WORD.get(word)
    if statement:
        forms = [form for row in statement.forms for form in FORM.findall(row)]
        return Signature(forms, " ".join(statement.forms.values()))
    return None


def _with_active(found: Signature, words: list[str]) -> Signature:
    """The first form that has all words which were written."""
    known = [word for word in words if word.isalpha() and word.islower()]
    fits = (
        index
        for index, form in enumerate(found.forms)
        if all(word in form.split() for word in known)
    )
    return Signature(found.forms, found.about, next(fits, 0))
