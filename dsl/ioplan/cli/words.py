"""The words that people give to a session: tags to find it by, and a note."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.cli.errors import UsageError
from ioplan.records.run_request import one_word, short_note


def checked_tags(words: Iterable[str], option: str = "--tag") -> tuple[str, ...]:
    """Each once and sorted, as a session has them. Raises UsageError."""
    try:
        return tuple(sorted(set(map(one_word, words))))
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None


def checked_note(text: str) -> str:
    """The note. Raises UsageError."""
    try:
        return short_note(text)
    except ValueError as error:
        raise UsageError(f"--note {error}") from None
