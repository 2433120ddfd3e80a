"""The words that people give to a session: tags to find it by, and a note."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ioplan.cli.errors import UsageError
from ioplan.records.run_request import MAX_NOTE, TAG


def checked_tags(words: Iterable[str], option: str = "--tag") -> tuple[str, ...]:
    """Each once and sorted, as a session has them. Raises UsageError."""
    for word in words:
        if not re.fullmatch(TAG, word):
            raise UsageError(
                f"{option} takes one word, such as nightly or lab=2, without blanks, "
                f"commas or quotes, at most 64 characters; not {word!r}"
            )
    return tuple(sorted(set(words)))


def checked_note(text: str) -> str:
    """The note. Raises UsageError."""
    if len(text) > MAX_NOTE:
        raise UsageError(
            f"--note takes at most {MAX_NOTE} characters, and this one has {len(text)}"
        )
    return text
