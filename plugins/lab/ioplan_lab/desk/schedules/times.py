"""When a schedule is due: cron expressions in a time zone that is always named.

cronsim reads them as Debian's cron does, also where clocks change: a time that is
skipped is due at the jump, and one that comes twice is due once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from ioplan.core.extras import needed
from ioplan_lab.desk.errors import DeskError, usage_error

MOST_COUNTED = 1000
FORM = "%Y-%m-%dT%H:%M:%SZ"


def next_time(cron: str, zone: str, after: str) -> str:
    """The first time after one, both UTC. Raises DeskError."""
    return next(_times(cron, zone, after))


def count_due(cron: str, zone: str, since: str, now: str) -> int:
    """How often it was due after `since`, up to now; at most 1000."""
    count = 0
    for at in _times(cron, zone, since):
        if at > now or count == MOST_COUNTED:
            break
        count += 1
    return count


def _times(cron: str, zone: str, after: str) -> Iterator[str]:
    with needed("schedules need", "serve", usage_error):
        from cronsim import CronSim, CronSimError  # noqa: PLC0415  an extra
    start = datetime.strptime(after, FORM).replace(tzinfo=UTC)
    try:
        for at in CronSim(cron, start.astimezone(_zone(zone))):
            yield f"{at.astimezone(UTC):{FORM}}"
    except CronSimError as error:
        raise DeskError(
            f"{cron!r} is not a valid cron expression: {error}; write for example '0 "
            "2 * * *' for each night at 2:00"
        ) from error
    raise DeskError(f"{cron!r} never occurs")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise DeskError(
            f"there is no time zone {name!r}; write for example Europe/Berlin or UTC"
        ) from None
