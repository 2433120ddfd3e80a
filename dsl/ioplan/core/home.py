"""Paths that begin with `~`, as variables and settings have them."""

from __future__ import annotations

from pathlib import Path

from ioplan.core.error_kinds import CommandFault, ExplainedError


def at_home(text: str) -> Path:
    """The path of a text. Raises ExplainedError for a user who has no home."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ExplainedError(
            f"{text!r} begins with the home of a user, who has none here; write the "
            f"path from / on",
            CommandFault.USAGE,
        ) from None
