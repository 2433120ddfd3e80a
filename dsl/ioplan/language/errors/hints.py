"""A syntax error in words, with what may stand there instead."""

from __future__ import annotations

import re
from functools import cache

from ioplan.core.text import did_you_mean, nearest
from ioplan.language.clause_table import FIO_WORDS
from ioplan.language.errors.clause_repair import spec_start
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.errors.first_attempts import attempt
from ioplan.language.errors.respelling import respelling
from ioplan.language.errors.stop import Stop
from ioplan.language.foreign_words import answer
from ioplan.language.quantity import QuantityError, parse_quantity
from ioplan.language.syntax.grammar import (
    CLAUSE_WORDS,
    ITEM_WORDS,
    STATEMENT_WORDS,
)
from ioplan.language.syntax.reader import pattern_of, words_of
from ioplan.language.syntax.source import Span, without_comments

CLAUSE_START = re.compile(r",\s*([A-Za-z_]\w*)\s+\Z")
ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*\Z")
CLOSED = re.compile(r"\{[^{}]*\}")
HEAD = re.compile(
    r"\b(random|sequential)(?:\s+([\d._]+\s*[A-Za-z]+))?(?:\s+\d+\s*/\s*\d+)?\s+\Z"
)
DIRECTION = re.compile(r"(reads?|writes?)\b(?!\s*\d+\s*%)(?:\s+(\d\w*))?")
FOREIGN_VALUE = re.compile(r"\s*=?\s*([\w.%/]+)")
VALUE_BEHIND = re.compile(r"\s+(\d[\w.%]*)")
VALUE = re.compile(r"=\s*([\w.%/]+)")
MIX = re.compile(r"\s+\d+\s*/\s*\d+")
NAMES = {"BOUND", "NAME", "SETTING"}


def slip(stop: Stop) -> Diagnostic | None:
    """What to say of an error that is one of these."""
    if found := respelling(stop):
        return found.diagnostic
    return (
        _assigned(stop)
        or _direction(stop)
        or _named(stop)
        or _unknown_clause(stop)
        or _foreign_word(stop)
        or _no_comma(stop)
        or attempt(stop)
    )


def _assigned(stop: Stop) -> Diagnostic | None:
    """`qd=8`, `iodepth=8`: the word before the = is what is wrong."""
    before = ASSIGNED.search(stop.text, 0, stop.start)
    if stop.word != "=" or not before:
        return None
    word, span = before[1], stop.span(before.start(1), stop.start)
    value = VALUE.match(stop.text, stop.start)
    if here := answer(word, value[1] if value else ""):
        return Diagnostic(f"unknown clause {word!r}", span, here)
    if word not in CLAUSE_WORDS:
        return None
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
        f"unexpected {stop.word!r}",
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
        kind = parse_quantity(value).kind
    except QuantityError:
        return None
    return {"size": "size ", "mix": "", "number": "qd "}.get(kind)


def _unknown_clause(stop: Stop) -> Diagnostic | None:
    """A word with a value behind it is a clause, if there is one of that name."""
    before = CLAUSE_START.search(stop.text, 0, stop.start)
    if not before or before[1] in CLAUSE_WORDS or not stop.word[:1].isalnum():
        return None
    word, span = before[1], stop.span(before.start(1), before.end(1))
    here = answer(word, stop.word)
    near = "" if here else did_you_mean(word, CLAUSE_WORDS)
    help = here or f"clauses: {' '.join(CLAUSE_WORDS)}"
    return Diagnostic(f"unknown clause {word!r}{near}", span, help)


def _foreign_word(stop: Stop) -> Diagnostic | None:
    """`iodepth 8`, `sleep 5s`: a word of another tool where no name can stand."""
    value = FOREIGN_VALUE.match(stop.text, stop.end)
    here = answer(stop.word, value[1] if value else "")
    if not here or stop.accepted & NAMES:
        return None
    what = "clause" if stop.word in FIO_WORDS else "statement"
    span = stop.span(stop.start, stop.end)
    return Diagnostic(f"there is no {what} {stop.word!r}", span, here)


def _no_comma(stop: Stop) -> Diagnostic | None:
    """`random 4KiB 100/0 qd 4`, also where the clause begins a line."""
    begin = spec_start(stop.text, stop.start)
    if stop.word not in CLAUSE_WORDS or begin is None:
        return None
    before = CLOSED.sub("", stop.text[begin : stop.start]).strip()
    if not before or "{" in before or before.endswith(","):
        return None
    value = VALUE_BEHIND.match(stop.text, stop.end)
    written = f"{stop.word} {value[1] if value else '…'}"
    span = stop.span(stop.start, stop.end)
    message = f"there is no comma before {stop.word!r}"
    return Diagnostic(message, span, f"write: , {written}")


PLAIN = {
    "BOUND": "a name and '='",
    "SETTING": "a name and '='",
    "NAME": "a name",
    "QUANTITY": "a quantity",
    "MIX": "a mix such as 70/30",
    "STRING": 'a "text"',
    "OPERATOR": "a comparison such as <",
    "_THEN": "', then'",
    "DATA": "'random', 'zeros'",
    "$END": "the end of the file",
}


def diagnose(stop: Stop) -> Diagnostic:
    """What is wrong where the parser stopped."""
    if stop.in_open_block:
        return _not_closed(stop)
    if stop.braced:
        return _braced(stop.braced, stop)
    if stop.at_end or stop.after_unfinished:
        what = "the text" if stop.at_end else "this"
        help = _may_stand(_expected(stop))
        return Diagnostic(f"{what} ends too early", _last(stop), help)
    span = stop.span(stop.start, stop.end)
    if stop.word.startswith('"') and stop.word.count('"') == 1:
        return Diagnostic('a text has no closing "', span, 'end it with " on its line')
    return slip(stop) or _misplaced(stop.word, span, _expected(stop))


def _braced(found: re.Match[str], stop: Stop) -> Diagnostic:
    """`workload oltp { random 4KiB }`."""
    brace = found[0].index("{") + found.start()
    span = stop.span(brace, brace + 1)
    message = "the streams in a workload's braces need names"
    help = f"write: workload {found[1]} = random 4KiB 70/30, qd 8"
    return Diagnostic(message, span, f"{help}; or a name before it: reader = …")


def _not_closed(stop: Stop) -> Diagnostic:
    if stop.at_end:
        last = _last(stop)
        return Diagnostic("a block is not closed", last, "put a } at the end")
    span = stop.span(stop.start, stop.end)
    message = f"the block before {_shown(span.text)} is not closed"
    return Diagnostic(message, span, "put a } before it")


def _last(stop: Stop) -> Span:
    """The last character before the error, or of the whole text."""
    source = stop.source
    before = stop.text[: stop.start]
    whole = without_comments(source.text) if stop.at_end else before
    last = len(whole.rstrip())
    return Span(source, max(0, last - 1), last)


def _misplaced(word: str, span: Span, expected: list[str]) -> Diagnostic:
    if expected == [PLAIN["BOUND"]] and word[:1].isalpha():
        return Diagnostic(f"expected = after {word!r}", span, f"{word} = …")
    names = {PLAIN["BOUND"], PLAIN["NAME"]}
    if word[:1].isdigit() and {*expected} <= names:
        return Diagnostic(
            f"{word!r} is not a name", span, "a name begins with a letter"
        )
    keywords = [name[1:-1] for name in expected if name.startswith("'")]
    meant = nearest(word, keywords) if word[:1].isalpha() else None
    hint = f", did you mean {meant!r}?" if meant else ""
    return Diagnostic(f"unexpected {_shown(word)}{hint}", span, _may_stand(expected))


def _shown(word: str) -> str:
    return repr(word if len(word) <= 30 else word[:27] + "…")


GROUPS = (
    (ITEM_WORDS, "an item such as test or workload"),
    (STATEMENT_WORDS, "a statement such as run or vary"),
    (CLAUSE_WORDS, "a clause such as qd 8"),
)
PARTS_OF_CLAUSES = (
    *(PLAIN[name] for name in ("MIX", "NAME", "QUANTITY", "STRING")),
    *("'at'", "'random'", "'sequential'"),
    *("'sizes'", "'read sizes'", "'write sizes'"),
)
MOST_WORDS = 3
"""So many of a group are named one by one."""


def _may_stand(expected: list[str]) -> str:
    """What may stand here, in a few words; what ends a block comes last."""
    left = list(expected)
    if {"','", "'for'"} <= {*left}:
        left = [text for text in left if text not in PARTS_OF_CLAUSES]
    for words, name in GROUPS:
        of_group = [text for text in left if text[1:-1] in words]
        if len(of_group) > MOST_WORDS:
            of_group += PARTS_OF_CLAUSES if words is CLAUSE_WORDS else ()
            left = [name, *(text for text in left if text not in of_group)]
    left.sort(key=lambda text: (text in ("'}'", PLAIN["$END"]), text.startswith("'")))
    return f"expected {'one of: ' * (len(left) > 1)}{', '.join(left)}"


def _expected(stop: Stop) -> list[str]:
    """What may stand there, keywords in quotes first; signs if they are all."""
    accepted = stop.accepted - ARITHMETIC or stop.accepted
    shown = {text for name in accepted for text in _terminal(name)}
    return sorted(shown, key=lambda text: (not text.startswith("'"), text))


ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "LPAR"}
"""What could follow or begin almost every value."""


@cache
def _terminal(name: str) -> tuple[str, ...]:
    """A terminal of the grammar as a person would write it, each of its words."""
    if name in PLAIN:
        return (PLAIN[name],)
    return tuple(f"'{word}'" for word in words_of(name) or [pattern_of(name)])
