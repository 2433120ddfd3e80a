"""A syntax error in words, with what may stand there instead."""

from __future__ import annotations

from functools import cache

from ioplan.language.comments import without_comments
from ioplan.language.diagnostic import Diagnostic
from ioplan.language.grammar import grammar
from ioplan.language.slips import slip
from ioplan.language.source import Source, Span
from ioplan.language.stop import Stop
from ioplan.suggest import nearest

WORD_END = r"\b"
PLAIN = {
    "BOUND": "a name and '='",
    "SETTING": "a name and '='",
    "_ON_FAILURE": "'on failure'",
    "_ON_HOSTS": "'on hosts'",
    "NAME": "a name",
    "QUANTITY": "a quantity",
    "MIX": "a mix such as 70/30",
    "STRING": 'a "text"',
    "OPERATOR": "a comparison such as <",
    "READ_SIZES": "'read sizes'",
    "WRITE_SIZES": "'write sizes'",
    "DATA": "'random', 'zeros'",
    "FIELD": "'read', 'size', 'trim'",
    "$END": "the end of the file",
}


def too_deep(source: Source) -> Diagnostic:
    """What to say of a text whose blocks or conditions no stack can hold."""
    where = Span(source, 0, min(1, len(source.text)))
    return Diagnostic(
        "the plan is nested too deeply",
        where,
        "nest fewer blocks, brackets and definitions",
    )


def diagnose(stop: Stop) -> Diagnostic:
    """What is wrong where the parser stopped."""
    if stop.in_open_block:
        return _not_closed(stop)
    if stop.at_end or stop.after_unfinished:
        what = "the text" if stop.at_end else "this"
        help = _may_stand(_expected(stop))
        return Diagnostic(f"{what} ends too early", _last(stop), help)
    span = stop.span(stop.start, stop.end)
    if stop.word.startswith('"') and stop.word.count('"') == 1:
        return Diagnostic('a text has no closing "', span, 'end it with " on its line')
    return slip(stop) or _misplaced(stop.word, span, _expected(stop))


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


def _shown(word: str) -> str:
    return repr(word if len(word) <= 30 else word[:27] + "…")


def _may_stand(expected: list[str]) -> str:
    words = ", ".join(expected[:12]) + (", …" if len(expected) > 12 else "")
    return f"here may stand: {words}"


def _expected(stop: Stop) -> list[str]:
    """What may stand there, keywords in quotes first."""
    shown = {_terminal(name) for name in stop.accepted}
    return sorted(shown, key=lambda text: (not text.startswith("'"), text))


@cache
def _terminal(name: str) -> str:
    """A terminal of the grammar as a person would write it."""
    if name in PLAIN:
        return PLAIN[name]
    for terminal in grammar().terminals:
        if terminal.name == name:
            return f"'{terminal.pattern.value.removesuffix(WORD_END)}'"
    return name
