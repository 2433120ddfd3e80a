"""Where ioplan keeps what outlives a session and belongs to no store."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.core.error_kinds import CommandFault, ExplainedError

# Paths that begin with `~`, as variables and settings have them.


def at_home(text: str) -> Path:
    """The path of a text. Raises ExplainedError for a user who has no home."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ExplainedError(
            f"{text!r} begins with the home of a user, who has none here; set "
            f"HOME, or write the path from / on",
            CommandFault.USAGE,
        ) from None


def state_folder() -> Path:
    """ioplan's own in the user's XDG state folder; it need not be there yet."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return at_home(state) / "ioplan"
