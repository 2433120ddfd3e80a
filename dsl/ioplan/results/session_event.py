"""What happened to a session beside its runs."""

from __future__ import annotations

from typing import Literal

from ioplan.model import Model
from ioplan.results.described import described

EventKind = Literal["resumed", "edited", "state", "purged", "failed"]


class SessionEvent(Model):
    """One thing that happened."""

    at: str = described("UTC, ISO 8601")
    kind: EventKind
    text: str = described("for a person; of `edited`, the plan as it was before")
