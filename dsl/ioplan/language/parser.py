"""Text to syntax tree, with every syntax error of the text and not only the first.

After an error the statement around it is blanked out, character by character so
that all other places stay where they are, and the rest is parsed again.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from lark import Lark, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from ioplan.language import tree
from ioplan.language.builder import Builder
from ioplan.language.comments import without_comments
from ioplan.language.diagnostic import Diagnostic
from ioplan.language.source import Source, Span
from ioplan.suggest import did_you_mean, nearest

MOST_ERRORS = 30
MOST_PARSED = 500_000
"""Characters, over all repairs: about two seconds."""
ITEM_WORDS = ("plan", "use", "param", "workload", "precondition", "test")
STATEMENT_WORDS = (
    *("after", "run", "idle", "repeat", "vary", "skip", "rounds", "expect"),
    *("chart", "purge", "write"),
)
ITEM_START = re.compile(
    r"^[ \t]*(?:(?:plan|use|test)\s*\"|(?:param|workload|precondition)\s+\w+\s*[={])",
    re.M,
)
STATEMENT_START = re.compile(
    rf"^(?:\w|[ \t]*(?:{'|'.join(ITEM_WORDS + STATEMENT_WORDS)})\b"
    r"|[ \t]*\w+[ \t]*=(?!=))",
    re.M,
)
CLOSING = re.compile(r"^[ \t]*\}", re.M)
OPENERS = {
    *(f"_{name.upper()}" for name in ITEM_WORDS),
    *(name.upper() for name in STATEMENT_WORDS),
    *("RBRACE", "$END"),
}
CLAUSE_WORDS = (
    *("size", "read", "sizes", "qd", "threads", "rate", "region", "align", "data"),
    *("hotspots", "zipf", "pareto", "normal", "trim", "sync", "verify"),
    *("for", "warmup", "until", "at most", "over", "range", "slope"),
)
CLAUSE_START = re.compile(r",\s*([A-Za-z_]\w*)\s+\Z")
SPEC_START = re.compile(r"(?:run|write|workload)\b|\w+\s*=")
WORD_END = r"\b"
PLAIN = {
    "BOUND": "a name and '='",
    "NAME": "a name",
    "QUANTITY": "a quantity",
    "MIX": "a mix such as 70/30",
    "STRING": 'a "text"',
    "OPERATOR": "a comparison such as <",
    "READ_SIZES": "'read sizes'",
    "WRITE_SIZES": "'write sizes'",
    "$END": "the end of the file",
}


@cache
def grammar() -> Lark:
    """The parser's tables, made once."""
    text = files("ioplan.language").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse(source: Source) -> tuple[tree.File, list[Diagnostic]]:
    """The tree of what could be parsed, and every syntax error."""
    text = without_comments(source.text) + " " * MOST_ERRORS  # room for closing braces
    found: list[Diagnostic] = []
    damaged: list[Span] = []
    while True:
        try:
            file = Builder(source).transform(grammar().parse(text))
            return tree.File(source, file.items, tuple(damaged)), found
        except UnexpectedInput as error:
            found.append(diagnose(source, text, error))
            text, blanked = _repair(source, text, error)
        except (RecursionError, VisitError):
            found.append(too_deep(source))
            return _nothing(source), found
        damaged.append(blanked)
        enough = len(found) >= MOST_ERRORS or len(found) * len(text) > MOST_PARSED
        if enough or blanked.start == blanked.end:
            return _nothing(source), found


def _nothing(source: Source) -> tree.File:
    """A file of which nothing could be understood."""
    return tree.File(source, (), (Span(source, 0, len(source.text)),))


def _span(source: Source, start: int, end: int) -> Span:
    """A place of the source; the room behind it belongs to its end."""
    last = len(source.text)
    return Span(source, min(start, last), min(end, last))


def too_deep(source: Source) -> Diagnostic:
    """What to say of a text whose blocks or conditions no stack can hold."""
    where = Span(source, 0, min(1, len(source.text)))
    return Diagnostic(
        "the plan is nested too deeply",
        where,
        "nest fewer blocks, brackets and definitions",
    )


def diagnose(source: Source, text: str, error: UnexpectedInput) -> Diagnostic:
    """The error in words, with what may stand there instead."""
    start, end = _place(text, error)
    at_end = start >= len(text.rstrip())
    word = text[start:end]
    if _open_block(text, start, error):
        return _not_closed(source, start, end, at_end)
    if at_end or _unfinished(text, start, error):
        what = "the text" if at_end else "this"
        last = _last(source, text, start, at_end)
        return Diagnostic(f"{what} ends too early", last, _may_stand(_expected(error)))
    span = _span(source, start, end)
    if word.startswith('"') and word.count('"') == 1:
        return Diagnostic('a text has no closing "', span, 'end it with " on its line')
    special = _unknown_clause(source, text, start) or _no_comma(text, word, span)
    return special or _misplaced(word, span, _expected(error))


def _not_closed(source: Source, start: int, end: int, at_end: bool) -> Diagnostic:
    if at_end:
        last = _last(source, source.text, start, at_end)
        return Diagnostic("a block is not closed", last, "put a } at the end")
    span = _span(source, start, end)
    message = f"the block before {_shown(span.text)} is not closed"
    return Diagnostic(message, span, "put a } before it")


def _last(source: Source, text: str, start: int, at_end: bool) -> Span:
    """The last character before the error, or of the whole text."""
    whole = without_comments(source.text) if at_end else text[:start]
    last = len(whole.rstrip())
    return Span(source, max(0, last - 1), last)


def _no_comma(text: str, word: str, span: Span) -> Diagnostic | None:
    before = text[_line_start(text, span.start) : span.start].strip()
    if word not in CLAUSE_WORDS or not SPEC_START.match(before) or before[-1] in ",{}":
        return None
    message = f"there is no comma before {word!r}"
    return Diagnostic(message, span, f"write: , {word} …")


def _misplaced(word: str, span: Span, expected: list[str]) -> Diagnostic:
    if expected == [PLAIN["BOUND"]] and word[:1].isalpha():
        return Diagnostic(f"there is no = behind {word!r}", span, f"{word} = …")
    names = {PLAIN["BOUND"], PLAIN["NAME"]}
    if word[:1].isdigit() and {*expected} <= names:
        return Diagnostic(
            f"{word!r} is not a name", span, "a name begins with a letter"
        )
    keywords = [name[1:-1] for name in expected if name.startswith("'")]
    meant = nearest(word, keywords) if word[:1].isalpha() else None
    hint = f", did you mean {meant!r}?" if meant else ""
    message = f"{_shown(word)} cannot stand here{hint}"
    return Diagnostic(message, span, _may_stand(expected))


def _unknown_clause(source: Source, text: str, at: int) -> Diagnostic | None:
    """A word with a value behind it is a clause, if there is one of that name."""
    before = CLAUSE_START.search(text, 0, at)
    if not before or before[1] in CLAUSE_WORDS or not text[at].isalnum():
        return None
    near = did_you_mean(before[1], CLAUSE_WORDS)
    return Diagnostic(
        f"there is no clause {before[1]!r}{near}",
        Span(source, before.start(1), before.end(1)),
        f"clauses: {' '.join(CLAUSE_WORDS)}",
    )


def _unfinished(text: str, at: int, error: UnexpectedInput) -> bool:
    """Whether the statement before the error lacks its end.

    That is so where the next statement begins though none can begin here.
    """
    begins = text[_line_start(text, at) : at].strip() == ""
    word = re.match(r"\w+|\}?", text[at:])
    known = word is not None and word[0] in (*ITEM_WORDS, *STATEMENT_WORDS, "}")
    return begins and known and not (_accepted(error) & OPENERS)


def _shown(word: str) -> str:
    return repr(word if len(word) <= 30 else word[:27] + "…")


def _may_stand(expected: list[str]) -> str:
    words = ", ".join(expected[:12]) + (", …" if len(expected) > 12 else "")
    return f"here may stand: {words}"


def _place(text: str, error: UnexpectedInput) -> tuple[int, int]:
    """The whole word that is wrong, even where the lexer stopped inside it."""
    start = min(error.pos_in_stream or 0, len(text))
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        start = len(text)
    while 0 < start < len(text) and _inside_word(text, start):
        start -= 1
    found = re.compile(r'"[^"\n]*"?|[\w.]+|\S').match(text, start)
    return start, found.end() if found else start


def _inside_word(text: str, at: int) -> bool:
    return bool(re.match(r"\w\w", text[at - 1 : at + 1]))


def _expected(error: UnexpectedInput) -> list[str]:
    """What may stand there, keywords in quotes first."""
    if isinstance(error, UnexpectedCharacters):
        names = set(error.allowed or ())
    elif isinstance(error, UnexpectedToken):
        names = set(error.accepts or error.expected)
    else:
        names = set()
    shown = {_terminal(name) for name in names}
    return sorted(shown, key=lambda text: (not text.startswith("'"), text))


@cache
def _terminal(name: str) -> str:
    """A terminal of the grammar as a person would write it."""
    if name in PLAIN:
        return PLAIN[name]
    if name == "DATA":
        return "'random', 'zeros'"
    if name == "FIELD":
        return "'read', 'size', 'trim'"
    for terminal in grammar().terminals:
        if terminal.name == name:
            return f"'{terminal.pattern.value.removesuffix(WORD_END)}'"
    return name


def _repair(source: Source, text: str, error: UnexpectedInput) -> tuple[str, Span]:
    """The text without the error, as long as before, and what was given up."""
    at, end = _place(text, error)
    if _open_block(text, at, error):
        return _closed(source, text, at)
    if _unfinished(text, at, error):
        at = len(text[:at].rstrip()) - 1
        end = at + 1
    start, stop = _statement(text, at, end)
    return _blank(text, start, stop), _span(source, start, stop)


def _open_block(text: str, at: int, error: UnexpectedInput) -> bool:
    """Whether an item begins, or the text ends, where a `}` was due."""
    ends = (
        at >= len(text.rstrip())
        or ITEM_START.match(text, _line_start(text, at)) is not None
    )
    room = text[len(text[:at].rstrip()) :][:1].isspace()
    return ends and room and "RBRACE" in _accepted(error)


def _closed(source: Source, text: str, at: int) -> tuple[str, Span]:
    """Put the missing `}` in the place of a blank before the next item."""
    before = len(text[:at].rstrip())
    closed = text[:before] + "}" + text[before + 1 :]
    return closed, _span(source, max(0, before - 1), before + 1)


def _accepted(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(getattr(error, "allowed", None) or ())


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _statement(text: str, at: int, end: int) -> tuple[int, int]:
    """From the start of the statement around a place to that of the next.

    A statement with a block is given up whole; a stray `}` alone.
    """
    starts = [m.start() for m in STATEMENT_START.finditer(text)]
    start = max((s for s in starts if s <= at), default=0)
    if _begins_line(text, at):
        start = _line_start(text, at)
    items = [m.start() for m in ITEM_START.finditer(text, at)]
    limit = min((s for s in items if s > at), default=len(text))
    closing = [m.start() for m in CLOSING.finditer(text)]
    starts += _as_far_out(text, start, at)
    stops = [s for s in (*starts, *closing) if at < s < limit] + [limit]
    for stop in sorted(stops):
        if text[start:stop].strip() and _balanced(text[start:stop]):
            return start, stop
    if ITEM_START.match(text, start):
        return (at, end) if text[at : at + 1] == "}" else (start, limit)
    rest = text.find("\n", at)
    return at, max(end, at + 1) if rest < 0 else max(at + 1, rest)


def _begins_line(text: str, at: int) -> bool:
    """Whether a statement could begin at a place, were its keyword right."""
    before = text[:at].rstrip(" \t")
    named = text[at : at + 1].isalpha() and not before.rstrip().endswith(",")
    return named and (not before or before.endswith("\n"))


def _as_far_out(text: str, start: int, at: int) -> list[int]:
    """Lines after a place that begin no further in than its statement."""
    row = text[_line_start(text, start) :]
    indent = len(row) - len(row.lstrip(" \t"))
    outer = re.compile(rf"^[ \t]{{0,{indent}}}[A-Za-z_]", re.M)
    return [m.start() for m in outer.finditer(text, at) if m.start() > at]


def _balanced(text: str) -> bool:
    return text.count("{") == text.count("}")


def _blank(text: str, start: int, stop: int) -> str:
    kept = re.sub(r"[^\n]", " ", text[start:stop])
    return text[:start] + kept + text[stop:]
