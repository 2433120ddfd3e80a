"""Sessions ranked by one headline, as bars with the interval of each figure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ioplan.results.report.documents import Document
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.league import Contest

FULL = 100.0
"""The length of the longest bar with its interval."""


class Bar(Struct, frozen=True):
    """One session's figure; lengths are of FULL, `low` and `high` None without error.

    `notes` are what speaks against it; one that is not `firm` is not bold.
    """

    label: str
    figure: str
    length: float
    low: float | None
    high: float | None
    notes: tuple[str, ...]
    firm: bool


class Ranking(Struct, frozen=True):
    """The best first; `lacking` are sessions without the figure."""

    name: str
    order: str
    bars: tuple[Bar, ...]
    lacking: tuple[str, ...]


def rankings(document: Document) -> tuple[Ranking, ...]:
    """One for each headline that two sessions have."""
    league = document.league
    found = map(_ranking, league.contests) if league else ()
    return tuple(one for one in found if len(one.bars) > 1)


def _ranking(contest: Contest) -> Ranking:
    known = {label: one for label, one in contest.of.items() if one.value is not None}
    first = next(iter(contest.of.values()))
    ends = [_end(one) for one in known.values()]
    ordered = sorted(
        known.items(),
        key=lambda pair: pair[1].value or 0.0,
        reverse=first.more_is_better,
    )
    return Ranking(
        f"{contest.test}: {contest.name}",
        "more is better" if first.more_is_better else "less is better",
        tuple(_bars(ordered, max(ends, default=0.0) or 1.0)),
        tuple(label for label in contest.of if label not in known),
    )


def _end(one: Headline) -> float:
    """Where its bar ends, with the interval."""
    return (one.value or 0.0) * (1 + (one.error_percent or 0.0) / 100)


def _bars(found: list[tuple[str, Headline]], most: float) -> Iterator[Bar]:
    for label, one in found:
        length = FULL * (one.value or 0.0) / most
        share = None if one.error_percent is None else one.error_percent / 100
        yield Bar(
            label=label,
            figure=one.figure,
            length=length,
            low=None if share is None else length * max(0.0, 1 - share),
            high=None if share is None else length * (1 + share),
            notes=one.notes,
            firm=one.is_firm,
        )
