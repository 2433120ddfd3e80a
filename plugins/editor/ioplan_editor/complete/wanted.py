"""What is wanted at a place: names of some sort, or quantities of some kinds.

Which kinds a keyword takes, its examples in the tables show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from lark import Token
from msgspec import Struct

from ioplan.language import (
    AXIS_FIELDS,
    EXAMPLES,
    Kind,
    MetricError,
    QuantityError,
    clause_table,
    parse_metric,
    parse_quantity,
    statement_table,
)
from ioplan_editor.complete.place import Place

WRITTEN = r"\d[\d_.]*(?:/\d+|%|\s?(?:iops|pass(?:es)?)\b|[A-Za-z]+(?:/s)?)?"
COMPARISON = re.compile(r"([A-Za-z_][\w.]*)\s*(?:<=|>=|==|!=|<|>)\s*\Z")
LISTS = ("sizes", "read sizes", "write sizes", "hotspots")
COMPARED = {"when", "at", "and", "or", "not", "("}
SOUGHT = {"highest", "lowest", "knee"}
AXES = {"by", "over", "per"}


class Wanted(Struct, frozen=True):
    """Sorts of names, and kinds of quantities; `axis` is whose values are wanted.

    `examples` are quantities that the tables have in this place.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    axis: str = ""
    examples: tuple[str, ...] = ()


NOTHING = Wanted()


class Statement(Struct, frozen=True):
    """The words of an unfinished statement, and the block that it is in."""

    words: list[Token] = []
    block: str = ""

    @property
    def texts(self) -> list[str]:
        """Its words as they are written, each of several words as one."""
        return [" ".join(word.split()) for word in self.words]

    def last(self, *types: str) -> str:
        """The last word of these types, or nothing."""
        return next((str(w) for w in reversed(self.words) if w.type in types), "")


def statement_at(place: Place) -> Statement:
    """The statement that the cursor is in."""
    words, block, first = place.words, "", 0
    for index, word in enumerate(words):
        if word == "{" and words[index - 1] not in LISTS:
            opener = words[first:index]
            block = opener[0] if opener and opener[0] != "repeat" else block
            first = index + 1
    return Statement(words[first:], block)


def wanted(place: Place) -> Wanted:
    """What the cursor's place takes, besides keywords."""
    if not place.accepted & {"NAME", "QUANTITY", "MIX", "SETTING", "STRING"}:
        return NOTHING
    said = statement_at(place)
    if not said.words:
        return _at_start(said.block)
    before = COMPARISON.search(place.text[: place.start])
    return _in_statement(said, said.texts, before[1] if before else "")


def _at_start(block: str) -> Wanted:
    names = {"precondition": ("precondition",), "profile": ("setting",)}
    return Wanted(names.get(block, ()))


def _in_statement(said: Statement, texts: list[str], compared: str) -> Wanted:
    """`compared` is the name before an operator."""
    opener, last = texts[0], texts[-1]
    is_headline = opener == "headline" and "at" in texts
    if is_headline or ("when" in texts and opener != "write"):
        return _condition(texts, compared)
    if opener == "seek":
        return _seek(texts, compared)
    if opener == "after":
        return Wanted(
            ("varied", "run or round") if last == "each" else ("precondition",)
        )
    if opener == "vary":
        axis = _axis_of(said, texts)
        return Wanted(axis=axis) if "in" in texts else Wanted(("axis",))
    if opener == "chart":
        return _chart(texts)
    if last in ("expect", "headline", "steady"):
        return Wanted(("metric",))
    if opener == "expect":
        return _limit(compared)
    if last == "replay":
        return Wanted(("trace",))
    if last in ("run", "write") or (last == "=" and opener in ("workload",)):
        return Wanted(("workload",))
    if last == "=" and said.block == "workload":
        return Wanted(("workload",))
    if last == "=" and said.block == "profile":
        return Wanted(("state",), axis=texts[-2])
    if last == "=":
        own = opener == "param"  # what it will be is not known
        return Wanted(kinds=tuple(EXAMPLES)) if own else Wanted(axis=texts[-2])
    return _clause(texts)


def _condition(texts: list[str], compared: str) -> Wanted:
    if texts[-1] in COMPARED:
        return Wanted(("varied",))
    if compared:
        return Wanted(axis=compared)
    return Wanted(("scale",)) if texts[-1] == "log" else NOTHING


def _seek(texts: list[str], compared: str) -> Wanted:
    """An axis, its values, and a condition on metrics."""
    if "where" in texts and texts[-1] in {"where", *COMPARED}:
        return Wanted(("metric",))
    if compared:
        return _limit(compared)
    if texts[-1] == "in":
        return Wanted(axis=texts[-2])
    return Wanted(("axis",)) if texts[-1] in SOUGHT else _clause(texts)


def _axis_of(said: Statement, texts: list[str]) -> str:
    """The name whose values come behind `in`, as far as there is one."""
    return said.last("NAME") if "in" not in texts else "?"


def _chart(texts: list[str]) -> Wanted:
    last = next((t for t in reversed(texts) if t in AXES | {"chart", "log"}), "")
    if last == "log":
        return Wanted(("scale",))
    if last in AXES:
        return Wanted(("varied", "over"))
    if texts[-1] == "chart":
        return Wanted(("chart",))
    return Wanted(("metric", "latency") if texts[1] == "heatmap" else ("metric",))


def _limit(name: str) -> Wanted:
    """What a metric is compared with; latencies are short."""
    try:
        kind = parse_metric(name.rpartition(".")[2] or name).kind
    except MetricError:
        kind = "time"
    short = ("1ms", "100us", "10ms") if kind == "time" else ()
    return Wanted(kinds=(kind, "share"), examples=short)


def _clause(texts: list[str]) -> Wanted:
    """The quantities that a keyword takes; behind a comma a size or a mix may stand."""
    if texts[-1] == ",":
        return Wanted(("host",)) if "on hosts" in texts[-3:] else NOTHING
    for first in range(len(texts) - 1, -1, -1):
        for phrase in (" ".join(texts[first : first + 2]), texts[first]):
            kinds = kinds_after(phrase, texts[-1])
            if kinds:
                return Wanted(kinds=kinds, examples=_values_after(phrase, texts[-1]))
    return NOTHING


@cache
def kinds_after(entry: str, word: str) -> tuple[Kind, ...]:
    """What stands behind a word in the examples of a clause or a statement."""
    found = _values_after(entry, word)
    return tuple(dict.fromkeys(kind for text in found for kind in _kind(text)))


@cache
def _values_after(entry: str, word: str) -> tuple[str, ...]:
    pattern = re.compile(rf"(?:^|\W|(?=,)){re.escape(word)}\s*({WRITTEN})")
    found = (hit[1] for text in _examples(entry) for hit in pattern.finditer(text))
    return tuple(dict.fromkeys(found))


def _examples(entry: str) -> Iterator[str]:
    clause = clause_table.BY_WORD.get(entry)
    if clause:
        yield from clause.forms.values()
        yield clause.reference[0] if clause.reference else ""
        yield from clause.fio.values()
    statement = statement_table.BY_WORD.get(entry)
    if statement:
        yield statement.example
        yield from statement.forms


def _kind(text: str) -> tuple[Kind, ...]:
    """Its kind; a rate may be of either."""
    try:
        kind = parse_quantity(text).kind
    except QuantityError:
        return ()
    return ("iops", "bandwidth") if kind == "iops" else (kind,)


@cache
def field_kinds(field: str) -> tuple[Kind, ...]:
    """The kinds of an axis's values, where it is a field of the workload."""
    word = field.rpartition(".")[2]
    if word not in AXIS_FIELDS or word not in clause_table.BY_WORD:
        return ()
    clause = clause_table.BY_WORD[word]
    return clause.kinds or kinds_after(word, word)
