"""What a history says: series, their levels, and where these change."""

from __future__ import annotations

from typing import Literal

from ioplan.core.model import Figures, described


class Point(Figures):
    """One session of a series."""

    session: str
    at: str = described("UTC, ISO 8601")
    value: float = described("in the series' unit; geometric mean of the runs")
    changed: tuple[str, ...] = described(
        "what is known to differ from the session before", default=()
    )


class Level(Figures):
    """Sessions between two changes."""

    first: int = described("index of the first point")
    last: int
    value: float = described("their geometric mean")
    low: float = described("of 20 sessions of this level, 19 lie within")
    high: float


class Change(Figures):
    """From one level to the next."""

    point: int = described("index of the first point of the new level")
    session: str
    at: str
    before: float
    after: float
    ratio: float = described("after / before")
    low: float = described("95 % interval of the ratio")
    high: float
    chance: float = described("of a cut as sharp in a series that does not change")
    verdict: Literal["better", "worse"]
    with_it: tuple[str, ...] = described("what else changed", default=())
    with_it_off: int = described(
        "so many sessions later than the change; earlier ones are negative", default=0
    )


class Series(Figures):
    """One metric of one cell over the sessions of one group."""

    group: dict[str, str] = described("what series are parted by")
    test: str
    cell: dict[str, str]
    run_id: str = described("empty of a summary of all cells")
    metric: str
    unit: str
    points: tuple[Point, ...]
    levels: tuple[Level, ...] = ()
    changes: tuple[Change, ...] = ()
    noise_percent: float | None = described(
        "of one session to the next, within a level", default=None
    )
    outside: int = described(
        "newest points beyond the band, too few to be called a change", default=0
    )
    why: str = described("why no change could be called", default="")

    @property
    def name(self) -> str:
        """Test and cell."""
        cell = " ".join(f"{axis}={value}" for axis, value in self.cell.items())
        return f"{self.test} {cell}".strip()


class History(Figures):
    """All series that were asked for."""

    plan: str
    by: tuple[str, ...]
    sessions: int
    series: tuple[Series, ...]

    @property
    def changes(self) -> int:
        """Of all series."""
        return sum(len(one.changes) for one in self.series)
