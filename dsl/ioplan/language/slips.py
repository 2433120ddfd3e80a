"""Slips in a workload that are told apart by the words around the error."""

from __future__ import annotations

import re

from ioplan.language.diagnostic import Diagnostic
from ioplan.language.fio_words import FIO_WORDS, written_here
from ioplan.language.grammar import CLAUSE_WORDS
from ioplan.language.quantity import QuantityError, parse
from ioplan.language.source import Span
from ioplan.language.stop import Stop, line_start
from ioplan.suggest import did_you_mean

CLAUSE_START = re.compile(r",\s*([A-Za-z_]\w*)\s+\Z")
ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*\Z")
SPEC_START = re.compile(r"(?:run|write|workload)\b|\w+\s*=")
CLOSED = re.compile(r"\{[^{}]*\}")
HEAD = re.compile(
    r"\b(random|sequential)(?:\s+([\d._]+\s*[A-Za-z]+))?(?:\s+\d+\s*/\s*\d+)?\s+\Z"
)
DIRECTION = re.compile(r"(reads?|writes?)\b(?!\s*\d+\s*%)(?:\s+(\d\w*))?")
VALUE = re.compile(r"=\s*([\w.%/]+)")
MIX = re.compile(r"\s+\d+\s*/\s*\d+")
NAMES = {"BOUND", "NAME", "SETTING"}


def slip(stop: Stop) -> Diagnostic | None:
    """What to say of an error that is one of these."""
    return (
        _assigned(stop)
        or _direction(stop)
        or _named(stop)
        or _unknown_clause(stop)
        or _fio_word(stop)
        or _no_comma(stop)
    )


def _assigned(stop: Stop) -> Diagnostic | None:
    """`qd=8`, `iodepth=8`: the word before the = is what is wrong."""
    before = ASSIGNED.search(stop.text, 0, stop.start)
    if stop.word != "=" or not before:
        return None
    word, span = before[1], stop.span(before.start(1), stop.start)
    if word in FIO_WORDS:
        return _no_clause(word, span)
    if word not in CLAUSE_WORDS:
        return None
    value = VALUE.match(stop.text, stop.start)
    help = f"write: {word} {value[1] if value else '…'}"
    return Diagnostic("a clause has no =", stop.span(stop.start, stop.end), help)


def _direction(stop: Stop) -> Diagnostic | None:
    """`random read 4KiB`."""
    head = HEAD.search(stop.text, 0, stop.start)
    found = DIRECTION.match(stop.text, stop.start)
    if not head or not found:
        return None
    mix = "100/0" if found[1].startswith("read") else "0/100"
    return Diagnostic(
        f"{stop.word!r} cannot stand here",
        stop.span(stop.start, stop.end),
        f"write reads/writes: {head[1]} {head[2] or found[2] or '4KiB'} {mix}",
    )


def _named(stop: Stop) -> Diagnostic | None:
    """`random block 100/0`: what stands in the head has no name."""
    head, word = HEAD.search(stop.text, 0, stop.start), re.escape(stop.word)
    bound = re.search(rf"\b(?:param|vary)\s+{word}\s+(?:=|in)\s*([^\s,]+)", stop.text)
    clause = _clause_of(bound[1]) if bound else None
    if not head or clause is None:
        return None
    mix = MIX.match(stop.text, stop.end)
    written = f"{head[0].strip()}{mix[0] if mix else ''}, {clause}{stop.word}"
    message = f"a name such as {stop.word!r} needs a comma before it"
    return Diagnostic(message, stop.span(stop.start, stop.end), f"write: {written}")


def _clause_of(value: str) -> str | None:
    """What stands before a name of such a value."""
    try:
        return {"size": "size ", "mix": "", "number": "qd "}.get(parse(value).kind)
    except QuantityError:
        return None


def _unknown_clause(stop: Stop) -> Diagnostic | None:
    """A word with a value behind it is a clause, if there is one of that name."""
    before = CLAUSE_START.search(stop.text, 0, stop.start)
    if not before or before[1] in CLAUSE_WORDS or not stop.word[:1].isalnum():
        return None
    return _no_clause(before[1], stop.span(before.start(1), before.end(1)))


def _no_clause(word: str, span: Span) -> Diagnostic:
    here = written_here(word)
    near = "" if here else did_you_mean(word, CLAUSE_WORDS)
    help = here or f"clauses: {' '.join(CLAUSE_WORDS)}"
    return Diagnostic(f"there is no clause {word!r}{near}", span, help)


def _fio_word(stop: Stop) -> Diagnostic | None:
    if stop.word not in FIO_WORDS or stop.accepted & NAMES:
        return None
    return _no_clause(stop.word, stop.span(stop.start, stop.end))


def _no_comma(stop: Stop) -> Diagnostic | None:
    row = stop.text[line_start(stop.text, stop.start) : stop.start]
    before = CLOSED.sub("", row).rpartition("{")[2].strip()
    if stop.word not in CLAUSE_WORDS or not SPEC_START.match(before):
        return None
    if before[-1] in ",}":
        return None
    span = stop.span(stop.start, stop.end)
    message = f"there is no comma before {stop.word!r}"
    return Diagnostic(message, span, f"write: , {stop.word} …")
