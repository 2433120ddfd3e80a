"""The words of the language that may stand at a place, as their tables have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ioplan.language import (
    HOLE,
    OF_UNTIL,
    ROUNDS_TIMING,
    RUN_TIMING,
    STATEMENT_WORDS,
    TIMING,
    WRITE_TIMING,
    Clause,
    clause_table,
    statement_table,
)
from ioplan_editor.complete.place import Place
from ioplan_editor.complete.wanted import Statement, statement_at

# Something that may be written at a place.


class Completion(Struct, frozen=True):
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


VALUE = re.compile(r"(?<= )[\d.].*$")
TAKEN = {"run": RUN_TIMING, "write": WRITE_TIMING, "rounds": ROUNDS_TIMING}
"""What may say how long a statement goes on."""
KNOWN = {*clause_table.BY_WORD, "random", "sequential", "read sizes", "write sizes"}
FIRST = ("random", "sequential", "for", "qd", "run")


def keywords(place: Place, axis: str) -> tuple[list[Completion], list[Completion]]:
    """What goes on with the statement, and what ends it: the next one, or a brace."""
    inside = bool(statement_at(place).words)
    words = [word for word in place.keywords() if word != "compressible" or not axis]
    begins = [word for word in words if inside and word.split()[0] in STATEMENT_WORDS]
    rest = meant(place, [word for word in words if word not in begins])
    ends = [made for word in first(begins) for made in keyword(word)]
    if "RBRACE" in place.accepted:
        ends.append(Completion("}", "word", "}", "the end of the block"))
    return [made for word in first(rest) for made in keyword(word)], ends


def first(words: list[str]) -> list[str]:
    """What is meant most often comes first."""
    return sorted(words, key=lambda one: one not in FIRST)


def meant(place: Place, words: list[str]) -> list[str]:
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
        taken -= {*OF_UNTIL}
    return [word for word in words if word not in had and _timing(word) in {"", *taken}]


def _timing(word: str) -> str:
    """Which of the words that say how long it is, if it is one."""
    return next((one for one in TIMING if word.startswith(one)), "")


def _said(place: Place, statement: Statement) -> set[str]:
    """The clauses that the statement has: each is said once."""
    begin = statement.words[0].start_pos or 0
    text = place.item[begin : place.start - place.item_start]
    words = set(re.findall(r"[a-z]+", text))
    slots = {clause_table.slot(word) for word in words & KNOWN}
    known = {word for word in KNOWN if clause_table.slot(word) in slots}
    return known | (words & {"for", "warmup", "interval", "until"})


def keyword(word: str, comma: bool = False) -> Iterator[Completion]:
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
