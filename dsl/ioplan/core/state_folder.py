"""Where ioplan keeps what outlives a session and belongs to no store."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.core.home import at_home


def state_folder() -> Path:
    """ioplan's own in the user's XDG state folder; it need not be there yet."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return at_home(state) / "ioplan"
