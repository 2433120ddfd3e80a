"""Text to syntax tree, with every syntax error of the text and not only the first.

After an error the text is repaired, and the rest is parsed again.
"""

from __future__ import annotations

from lark import UnexpectedInput
from lark.exceptions import VisitError

from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.errors.hints import diagnose, too_deep
from ioplan.language.errors.recovery import Stop, repair
from ioplan.language.syntax import tree
from ioplan.language.syntax.builder import Builder
from ioplan.language.syntax.grammar import grammar
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
            file = Builder(source).transform(grammar().parse(text))
            return tree.File(source, file.items, tuple(damaged)), found
        except UnexpectedInput as error:
            stop = Stop(source, text, error)
            found.append(diagnose(stop))
            text, blanked = repair(stop)
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
