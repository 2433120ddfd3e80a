"""What may be written at a place, in the order in which it is most likely meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.language import ACCEPTED, OPERATORS, UNITS, Kind
from ioplan_editor.complete.keywords import (
    TAKEN,
    Completion,
    first,
    keyword,
    keywords,
    meant,
)
from ioplan_editor.complete.names import files, listed, names, value_of, varied, varying
from ioplan_editor.complete.place import Place
from ioplan_editor.complete.wanted import Wanted, field_kinds, statement_at, wanted
from ioplan_editor.document import Document

# The values that may stand at a place: with units, of the kind that is wanted.

VALUES: dict[Kind, tuple[str, ...]] = {
    "size": ("4KiB", "512B", "8KiB", "16KiB", "64KiB", "128KiB", "1MiB", "1GiB"),
    "time": ("1min", "10s", "30s", "10min", "1h", "1ms", "100us"),
    "share": ("100%", "70%", "50%", "10%", "0%"),
    "mix": ("100/0", "70/30", "50/50", "0/100"),
    "iops": ("10_000 iops", "50_000 iops"),
    "bandwidth": ("200MiB/s", "1GB/s"),
    "passes": ("1 pass", "2 passes"),
    "number": ("1", "2", "4", "8", "16", "32"),
}
RANGES: dict[Kind, tuple[str, ...]] = {
    "size": ("4KiB..128KiB doubling", "512B..1MiB doubling"),
    "number": ("1..32 doubling", "1..256 doubling"),
    "share": ("0%..100% step 10%",),
}
DIGITS = re.compile(r"[0-9][\d_]*(?:\.\d+)?")


def values(place: Place, document: Document) -> Iterator[Completion]:
    """Quantities with their units, and the params that stand for one."""
    want = wanted(place)
    if "QUANTITY" not in place.accepted:
        return
    if want.axis:
        yield from _of_axis(place, document, want)
        return
    kinds = want.kinds or _head_kinds(place)
    if not place.word:
        yield from (Completion(one, "value", one) for one in want.examples)
        if want.kinds == ("number",) and "." in "".join(want.examples):
            return
    yield from _quantities(kinds, place)
    yield from _params(kinds, place, document)


def _head_kinds(place: Place) -> tuple[Kind, ...]:
    """Kinds that may stand without a keyword: a size, a mix, and how many passes."""
    if not {"COMMA", "READ_SIZES"} & place.accepted:
        return ()
    said = statement_at(place).texts
    row = place.item[: place.start - place.item_start].rpartition("\n")[2]
    kinds: list[Kind] = []
    if said[-1:] == [","] and "passes" in TAKEN.get(said[0], ()):
        kinds.append("passes")
    if not re.search(r"\d\s*[KMGT]?i?B\b|\bsizes\b", row):
        kinds.append("size")
    if not re.search(r"\d\s*/\s*\d", row) and said[:1] != ["write"]:
        kinds.append("mix")
    return tuple(kinds)


def _quantities(kinds: tuple[Kind, ...], place: Place) -> Iterator[Completion]:
    digits = DIGITS.match(place.word)
    for kind in kinds:
        for text in _with_units(digits[0], kind) if digits else VALUES.get(kind, ()):
            yield Completion(text, "value", text, detail=kind)


def _with_units(digits: str, kind: Kind) -> Iterator[str]:
    """A number with each unit that it may have."""
    if kind == "mix":
        value = float(digits.replace("_", ""))
        if value <= 100:
            yield f"{digits}/{100 - value:g}"
    for unit, (known, _) in UNITS.items():
        if known == kind and not (unit == "pass" and digits != "1"):
            gap = " " if unit in ("iops", "pass", "passes") else ""
            yield f"{digits}{gap}{unit}"


def _params(
    kinds: tuple[Kind, ...], place: Place, document: Document
) -> Iterator[Completion]:
    for name in names("param", place, document) if "NAME" in place.accepted else ():
        value = value_of(name.text, document)
        if value is None or value.kind in kinds:
            yield Completion(name.text, "param", name.text, detail=name.about)


def _of_axis(place: Place, document: Document, want: Wanted) -> Iterator[Completion]:
    """The values that the axis has, or could have."""
    axis = _axis(place) if want.axis == "?" else want.axis
    worded = {
        "workload": [one.text for one in names("workload", place, document)],
        "pattern": ["random", "sequential"],
        "data": ["random", "zeros", "compressible 50%"],
        "distribution": ["uniform", "zipf 1.1", "pareto 0.2", "normal 10%"],
        "hotspots": ["{ 80% in 20%, 20% in 80% }"],
    }
    if axis.rpartition(".")[2] in worded:
        for text in worded[axis.rpartition(".")[2]]:
            yield Completion(text, "value", text)
        return
    if axis in varied(place):
        yield from (Completion(one, "value", one) for one in listed(place, axis))
    value = value_of(axis, document)
    kinds = field_kinds(axis) or ((value.kind,) if value else tuple(VALUES))
    if "DOUBLING" not in place.accepted and want.axis == "?":
        for kind in kinds:
            for text in RANGES.get(kind, ()):
                yield Completion(text, "value", text, detail="a range")
    yield from _quantities(kinds, place)
    yield from _params(kinds, place, document)


def _axis(place: Place) -> str:
    """The name behind the `vary` that is being written, of several the one in turn."""
    before = place.text[place.item_start : place.start]
    names = varying(before)
    entry = before[before.rfind(" in ") :].rpartition("(")[2]
    return names[min(entry.count(","), len(names) - 1)] if names else ""


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
