"""Headlines as text: what was measured at the same place stands together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from ioplan.core.text import counted
from ioplan.results.report.headlines.headline import ALIGNED, Headline
from ioplan.results.report.point import Point

OPEN = "{} at the end of the range, not averaged"
UNRANKED = "no rank among drives for what is simulated or not preconditioned"


def together(found: Iterable[Headline]) -> list[list[Headline]]:
    """The headlines one after the other, rates or latencies of one place in a list."""
    return [list(some) for _, some in groupby(found, key=_alike)]


def _alike(one: Headline) -> tuple[str, str, bool]:
    return one.kind, one.where, one.more_is_better


def place_text(one: Headline) -> str:
    """` of random reads at QD 128`; nothing for the only cell there is."""
    of = f" of {one.kind}" if one.kind else ""
    at = "," if one.where.endswith(ALIGNED) else " at"
    return f"{of}{at} {one.where}" if one.where else of


def short_name(one: Headline) -> str:
    """Beside the units, latency and throughput need not be called so."""
    return one.name.replace("mean latency", "mean").replace("throughput", "").strip()


def nothing_text(points: Sequence[Point]) -> str:
    """Why there are no headlines: `no figure: 8 cells failed`, `… no qd held`."""
    found = Counter(one.status for one in points if one.failed)
    told = [f"{counted(n, 'cell')} {status}" for status, n in found.items()]
    seeks = (run.found for point in points for run in point.runs if run.found)
    told += dict.fromkeys(found.nothing for found in seeks if found.nothing)
    return f"no figure: {', '.join(told)}" if told else "no figure"
