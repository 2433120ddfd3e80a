"""A history: series, their levels, and where these change."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioplan.core.model import Model
from ioplan.results.report.sentences import place_text


class Point(Model):
    """One session of a series."""

    session: str
    at: str = Field(description="UTC, ISO 8601")
    value: float = Field(description="in the series' unit; geometric mean of the runs")
    changed: tuple[str, ...] = Field((), description="from the session before")


class Level(Model):
    """Sessions between two changes."""

    first: int = Field(description="index of the first point")
    last: int
    began: float = Field(description="where a drift began; else the level")
    value: float = Field(description="geometric mean without outliers; a drift's end")
    low: float = Field(description="of 20 sessions of this level, 19 lie within")
    high: float


class Change(Model):
    """From one level to the next, or a drift within one."""

    kind: Literal["step", "drift"]
    point: int = Field(description="index of the first point of the new level")
    session: str
    at: str
    before: float
    after: float
    ratio: float = Field(description="after / before")
    low: float = Field(description="95 % interval of the ratio")
    high: float
    chance: float = Field(
        description="1 / the evidence when it was confirmed: the likelihood of a "
        "change over that of none, at its best, summed over the places"
    )
    verdict: Literal["better", "worse"]
    with_it: tuple[str, ...] = Field((), description="what else changed")
    with_it_off: int = Field(0, description="so many sessions later; -1 is earlier")


class SignalEntry(Model):
    """A look that suspected, confirmed or withdrew a change."""

    session: str = Field(description="the first of the new level")
    seen: str = Field(description="the newest session of that look")
    state: Literal["suspected", "confirmed", "withdrawn"]


class Series(Model):
    """One metric of one cell over the sessions of one group."""

    group: dict[str, str] = Field(description="what series are parted by")
    test: str
    cell: dict[str, str]
    run_id: str = Field(description="empty of a summary of all cells")
    metric: str
    unit: str
    points: tuple[Point, ...]
    levels: tuple[Level, ...] = ()
    changes: tuple[Change, ...] = ()
    noise_percent: float | None = Field(None, description="of sessions within a level")
    correlation: float | None = Field(None, description="of a session with the next")
    is_accounted_for: bool = Field(
        True, description="whether the promise on false alarms holds for its sessions"
    )
    signals: tuple[SignalEntry, ...] = Field((), description="of all looks, in order")
    why: str = Field("", description="why no change could be called")

    @property
    def is_suspected(self) -> bool:
        return bool(self.signals) and self.signals[-1].state == "suspected"

    @property
    def name(self) -> str:
        return f"{self.test} {place_text(self.cell)}".strip()


class History(Model):
    plan: str
    by: tuple[str, ...]
    sessions: int
    series: tuple[Series, ...]
    watched: int = Field(1, description="series that share the budget of false alarms")
    threshold_percent: float = Field(1.0, description="smaller changes are none")

    @property
    def changes(self) -> int:
        return sum(len(series.changes) for series in self.series)
