"""Text to syntax tree, with every syntax error of the text and not only the first.

After an error the text is repaired, and the rest is parsed again.
"""

from __future__ import annotations

from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.syntax import tree
from ioplan.language.syntax.builder import Builder
from ioplan.language.syntax.reader import Reader, Stuck
from ioplan.language.syntax.source import Source, Span, without_comments

MOST_ERRORS = 30
MOST_PARSED = 500_000
"""Characters, over all repairs: about two seconds."""


def parse(source: Source) -> tuple[tree.File, list[Diagnostic]]:
    """The tree of what could be parsed, and every syntax error."""
    text = without_comments(source.text) + " " * MOST_ERRORS  # room for closing braces
    found: list[Diagnostic] = []
    damaged: list[Span] = []
    while True:
        try:
            file = Builder(source).build(Reader(text).tree())
            return tree.File(source, file.items, tuple(damaged), text), found
        except Stuck as error:
            if not found and (foreign := _foreign(source)):
                return _nothing(source), [foreign]
            text, blanked = _repaired(source, text, error, found)
        damaged.append(blanked)
        enough = len(found) >= MOST_ERRORS or len(found) * len(text) > MOST_PARSED
        if enough or blanked.start == blanked.end:
            return _nothing(source), found


def _repaired(
    source: Source, text: str, error: Stuck, found: list[Diagnostic]
) -> tuple[str, Span]:
    """Tell of an error; the text without it, and what was given up."""
    from ioplan.language.errors.recovery import recovered  # noqa: PLC0415  errors are rare

    wrong, rest, blanked = recovered(source, text, error.position, error.accepted)
    found.append(wrong)
    return rest, blanked


def _foreign(source: Source) -> Diagnostic | None:
    from ioplan.language.errors.first_attempts import foreign_file  # noqa: PLC0415

    return foreign_file(source)


def _nothing(source: Source) -> tree.File:
    """A file of which nothing could be understood."""
    return tree.File(source, (), (Span(source, 0, len(source.text)),))
