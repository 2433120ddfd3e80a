"""What is known of the state that a target is in, across sessions."""

from __future__ import annotations

import json
from typing import Any

from ioplan.model import Model
from ioplan.results.described import described


class KnownState(Model):
    """The last state that a session has brought a target into."""

    target: str = described("identifies the target, not its path")
    path: tuple[str, ...] = described(
        "digests of the steps that led to it; empty when it was written to since"
    )
    name: str = described("of the precondition", default="")
    evidence: dict[str, str] = described(
        "figures that change when anything writes to the target", default={}
    )
    session: str
    at: str = described("UTC, ISO 8601")


def state_row(state: KnownState) -> dict[str, Any]:
    """A state's columns."""
    row = state.model_dump()
    return row | {name: json.dumps(row[name]) for name in ("path", "evidence")}
