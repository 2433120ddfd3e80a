"""Moments as people write them: `2026-12-01`, `2026-12-01T18:00`, `+2h`, `+3d`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

UNITS_S = {"min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
SPAN = re.compile(r"\+?(\d{1,5})\s*(min|h|d|w)")
FORMS = "write for example 2026-12-01, 2026-12-01T18:00+01:00, 2h or 3d"


def moment(text: str, now: datetime | None = None) -> datetime:
    """The moment in UTC; without a zone it is this machine's. Raises ValueError.

    A day alone means its end, as `until Friday` does.
    """
    if found := SPAN.fullmatch(text.strip()):
        return (now or datetime.now(UTC)) + timedelta(
            seconds=int(found[1]) * UNITS_S[found[2]]
        )
    try:
        parsed = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= len("2026-12-01"):
            parsed = datetime.combine(parsed.date(), time(23, 59, 59))
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is no moment: {FORMS}") from None


def moment_text(at: datetime) -> str:
    """To the minute, with this machine's zone: `2026-12-01 18:00 CET`."""
    return f"{at.astimezone():%Y-%m-%d %H:%M %Z}"
