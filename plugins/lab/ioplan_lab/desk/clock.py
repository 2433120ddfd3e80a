"""Times as the desk's tables keep them: UTC, ISO 8601, so that they sort as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NEVER = timedelta(0)


def stamp(after: timedelta = NEVER) -> str:
    """The time now, or so much later, such as 2026-11-22T15:45:12Z."""
    return f"{datetime.now(UTC) + after:%Y-%m-%dT%H:%M:%SZ}"


def time_in_words(at: str) -> str:
    """A stamp as people read it: 2026-11-22 15:45 UTC."""
    return f"{at[:10]} {at[11:16]} UTC"
