"""What may be written at a place, in the order in which it is most likely meant."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language.lints.kinds import ACCEPTED
from ioplan.language.plan import OPERATORS
from ioplan_editor.complete.keywords import first, keyword, keywords, meant
from ioplan_editor.complete.names import files, names
from ioplan_editor.complete.place import Place
from ioplan_editor.complete.proposal import Completion
from ioplan_editor.complete.quantities import values
from ioplan_editor.complete.wanted import (
    wanted,
)
from ioplan_editor.document import Document


def completions(document: Document, offset: int) -> list[Completion]:
    """All that may be written at a place."""
    place = Place(document.text, offset)
    if place.in_comment():
        return []
    written = place.in_text()
    if written is not None:
        return list(_in_text(written, document, offset))
    clauses, statements = keywords(place, wanted(place).axis)
    found = [*values(place, document), *_names(place, document), *clauses]
    if "OPERATOR" in place.accepted:
        found += [Completion(one, "operator", one) for one in OPERATORS]
    if after := place.after_comma():
        words = first(meant(place, list(place.keywords(after))))
        found += [made for word in words for made in keyword(word, comma=True)]
    found += statements
    unique: dict[str, Completion] = {}
    for one in found:
        unique.setdefault(one.label, one)
    return [one for one in unique.values() if _fits(one, place.word)]


def _fits(one: Completion, word: str) -> bool:
    """Whether it can be what is being written."""
    letters = iter(one.label.lower())
    return all(char in letters for char in word.lower())


def _in_text(written: str, document: Document, offset: int) -> Iterator[Completion]:
    """Files behind `use`, kinds of lints behind `accept`."""
    row = document.text[document.text.rfind("\n", 0, offset) + 1 : offset].split()
    if row[:1] == ["use"]:
        for name in files(written, document):
            yield Completion(name.text, "file", name.text, name.about)
    elif row[:1] == ["accept"]:
        for kind in ACCEPTED:
            yield Completion(kind, "word", kind, "a kind of warning")


def _names(place: Place, document: Document) -> Iterator[Completion]:
    for sort in wanted(place).names:
        for name in names(sort, place, document):
            yield Completion(name.text, name.sort, name.text, detail=name.about)
