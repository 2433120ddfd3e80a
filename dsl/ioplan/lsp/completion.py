"""What may be written at a place, in the order in which it is most likely meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.core.value import Value
from ioplan.language import clause_table, statement_table
from ioplan.language.check.preconditions import WRITE_TIMING
from ioplan.language.check.run_steps import RUN_TIMING
from ioplan.language.check.steady_clause import BELONGS, ROUNDS_TIMING
from ioplan.language.check.timing import TIMING
from ioplan.language.clause_table import Clause
from ioplan.language.mistakes.kinds import KINDS as MISTAKES
from ioplan.language.plan import OPERATORS
from ioplan.language.quantity import UNITS, Kind
from ioplan.language.statement_table import HOLE
from ioplan.language.syntax.grammar import STATEMENT_WORDS
from ioplan.lsp.document import Document
from ioplan.lsp.names import files, names, value_of, varying
from ioplan.lsp.place import Place
from ioplan.lsp.wanted import Statement, Wanted, field_kinds, statement_at, wanted

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
VALUE = re.compile(r"(?<= )[\d.].*$")
TAKEN = {"run": RUN_TIMING, "write": WRITE_TIMING, "rounds": ROUNDS_TIMING}
"""What may say how long a statement goes on."""
KNOWN = {*clause_table.BY_WORD, "random", "sequential", "read sizes", "write sizes"}
FIRST = ("random", "sequential", "for", "qd", "run")


class Completion(Value):
    """One proposal; `template` has editors' holes, and replaces the word.

    With `comma`, one has to stand behind what comes before.
    """

    label: str
    sort: str
    template: str
    about: str = ""
    detail: str = ""
    comma: bool = False

    @property
    def text(self) -> str:
        """The template with its examples."""
        return HOLE.sub(lambda hole: hole[1] or "", self.template)


def completions(document: Document, offset: int) -> list[Completion]:
    """All that may be written at a place."""
    place = Place(document.text, offset)
    if place.in_comment():
        return []
    written = place.in_text()
    if written is not None:
        return list(_in_text(written, document, offset))
    clauses, statements = _keywords(place, wanted(place).axis)
    found = [*_values(place, document), *_names(place, document), *clauses]
    if "OPERATOR" in place.accepted:
        found += [Completion(one, "operator", one) for one in OPERATORS]
    if after := place.after_comma():
        words = _first(_meant(place, list(place.keywords(after))))
        found += [made for word in words for made in _keyword(word, comma=True)]
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
    """Files behind `use`, kinds of mistakes behind `accept`."""
    row = document.text[document.text.rfind("\n", 0, offset) + 1 : offset].split()
    if row[:1] == ["use"]:
        for name in files(written, document):
            yield Completion(name.text, "file", name.text, name.about)
    elif row[:1] == ["accept"]:
        for kind in MISTAKES:
            yield Completion(kind, "word", kind, "a kind of warning")


def _keywords(place: Place, axis: str) -> tuple[list[Completion], list[Completion]]:
    """What goes on with the statement, and what ends it: the next one, or a brace."""
    inside = bool(statement_at(place).words)
    words = [word for word in place.keywords() if word != "compressible" or not axis]
    begins = [word for word in words if inside and word.split()[0] in STATEMENT_WORDS]
    meant = _meant(place, [word for word in words if word not in begins])
    ends = [made for word in _first(begins) for made in _keyword(word)]
    if "RBRACE" in place.accepted:
        ends.append(Completion("}", "word", "}", "the end of the block"))
    return [made for word in _first(meant) for made in _keyword(word)], ends


def _first(words: list[str]) -> list[str]:
    return sorted(words, key=lambda one: one not in FIRST)


def _meant(place: Place, words: list[str]) -> list[str]:
    """Without clauses that the statement has already, or that it does not take."""
    said = statement_at(place)
    opener = said.texts[0] if said.words else ""
    if not said.words or (
        said.block != "workload" and opener not in (*TAKEN, "workload")
    ):
        return words
    had = _said(place, said)
    taken = {*TAKEN.get(opener, ())} - had
    if "until" not in had and opener != "rounds":
        taken -= {*BELONGS}
    return [word for word in words if word not in had and _timing(word) in {"", *taken}]


def _timing(word: str) -> str:
    """Which of the words that say how long it is, if it is one."""
    return next((one for one in TIMING if word.startswith(one)), "")


def _said(place: Place, statement: Statement) -> set[str]:
    """The clauses that the statement has: each is said once."""
    begin = statement.words[0].start
    text = place.item[begin : place.start - place.item_start]
    words = set(re.findall(r"[a-z]+", text))
    slots = {clause_table.slot(word) for word in words & KNOWN}
    known = {word for word in KNOWN if clause_table.slot(word) in slots}
    return known | (words & {"for", "warmup", "until"})


def _keyword(word: str, comma: bool = False) -> Iterator[Completion]:
    """A word of the language with what its table knows of it."""
    clause = _clause(word)
    entry = statement_table.BY_WORD.get(word) or statement_table.BY_WORD.get(
        word.split(" ", maxsplit=1)[0]
    )
    sort = "clause" if clause else "keyword"
    if clause and word in clause.forms:
        yield from _forms(word, clause, comma)
    elif clause:
        template = _template(clause, word)
        yield Completion(word, sort, template, clause_text(clause), comma=comma)
    elif entry and entry.template.replace("  ", " ").startswith(word):
        about = " ".join(entry.forms.values())
        timed = comma and word != "for"
        yield Completion(word, sort, entry.template, about, entry.example, timed)
    else:
        about = " ".join(entry.forms.values()) if entry else ""
        yield Completion(word, sort, word, about, comma=comma)


def _clause(word: str) -> Clause | None:
    if word in ("random", "sequential"):
        return clause_table.BY_WORD["pattern"]
    if word in ("read sizes", "write sizes"):
        return clause_table.BY_WORD["sizes"]
    return clause_table.BY_WORD.get(word.removesuffix(" every"))


def _forms(word: str, clause: Clause, comma: bool) -> Iterator[Completion]:
    """Each form of a clause, by its example."""
    for example in clause.forms.values():
        if example.startswith(word):
            label = example if word == "data" else word
            yield Completion(
                label, "clause", _holed(example), clause_text(clause), example, comma
            )
            return


def _template(clause: Clause, word: str) -> str:
    examples = [one for one in clause.forms.values() if one.startswith(word)]
    if clause.word == "pattern":
        return word
    sizes = clause.forms.get("sizes", "")
    shown = examples[0] if examples else sizes.replace("sizes", word) if sizes else ""
    return _holed(shown or next(iter(clause.fio.values()), word))


def _holed(example: str) -> str:
    """`qd 32` as `qd ${1:32}`."""
    return VALUE.sub(lambda value: f"${{1:{value[0]}}}", example)


def clause_text(clause: Clause) -> str:
    """What the reference says of a clause."""
    owner = clause if clause.reference else _owner(clause)
    return owner.reference[1] if owner and owner.reference else ""


def _owner(clause: Clause) -> Clause | None:
    """The clause in whose row of the reference another one is told of."""
    slot = clause_table.slot(clause.word)
    same = (one for one in clause_table.CLAUSES if clause_table.slot(one.word) == slot)
    told = (one for one in same if one.reference and clause.word in one.reference[0])
    return next(told, None)


def _names(place: Place, document: Document) -> Iterator[Completion]:
    for sort in wanted(place).names:
        for name in names(sort, place, document):
            yield Completion(name.text, name.sort, name.text, detail=name.about)


def _values(place: Place, document: Document) -> Iterator[Completion]:
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
    """Of what may stand without a keyword: a size, a mix, and how many passes."""
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
        for text in _with_units(digits[0], kind) if digits else VALUES[kind]:
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
    }
    if axis.rpartition(".")[2] in worded:
        for text in worded[axis.rpartition(".")[2]]:
            yield Completion(text, "value", text)
        return
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
