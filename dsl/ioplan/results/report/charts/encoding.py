"""A chart of rows: which of their dimensions become colour, dash, panel or choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from msgspec import Struct

from ioplan.results.report.charts.axis import axis_title, in_order
from ioplan.results.report.documents import (
    JUDGED,
    STATUS,
    Channels,
    ChartSpec,
    Column,
    Frame,
    Value,
)
from ioplan.results.report.point import Dimensions

MOST_COLORS = 20
ANY_NUMBER = 1 << 30
"""Any number of sessions: the page draws many as panels, or as median and band."""
MOST_DASHES = 4
MOST_PANELS = 12
FEW = 3
TOGETHER = "where"


class Datum(Struct, frozen=True):
    """One row before it has columns: where it is, and its values.

    One of a cell that failed has no value on its y axis, and says so by its status;
    `judged` tells which expectations its value does not meet.
    """

    dimensions: Dimensions
    values: tuple[Value, ...]
    status: str = "ok"
    judged: str = ""


def drawn(
    kind: str,
    title: str,
    data: Sequence[Datum],
    columns: tuple[Column, ...],
    per: Sequence[str] = (),
    colored: bool = True,
    dashes: int = MOST_DASHES,
    over: Sequence[Datum] = (),
    over_columns: tuple[Column, ...] = (),
    line: str = "",
    **more: Any,
) -> ChartSpec:
    """A chart of rows, and of what lies `over` them where it has the same dimensions.

    `per` is what the plan wants a line for each of. Without `colored`, curves
    cannot share a panel; `dashes` is how many kinds of line there are.
    """
    frame, channels = framed(data, columns, per, colored, dashes)
    overlay, _ = framed(over, over_columns, per, colored, dashes)
    is_alike = over and _dimension_keys(frame) == _dimension_keys(overlay)
    more |= {"channels": channels, "overlay": overlay if is_alike else None}
    return ChartSpec(kind, title, line, frame, **more)


def framed(
    data: Sequence[Datum],
    values: tuple[Column, ...],
    per: Sequence[str] = (),
    colored: bool = True,
    dashes: int = MOST_DASHES,
) -> tuple[Frame, Channels]:
    """Rows with a column for each dimension that varies, then the values; last what
    went wrong, where anything did."""
    places = _untied([datum.dimensions for datum in data])
    texts = {n: t for n, t in varied(places).items() if all(n in p for p in places)}
    assigned = _assigned({n: len(t) for n, t in texts.items()}, per, colored, dashes)
    columns = [
        Column(f"d{number}", axis_title(name), "text", in_order(texts[name]))
        for number, name in enumerate(texts)
    ]
    keys = dict(zip(texts, (column.key for column in columns), strict=True))
    heads = [[place[name] for name in texts] for place in places]
    remaining = [name for name in texts if name not in assigned.values()]
    if remaining:
        joined = [together({n: place[n] for n in remaining}) for place in places]
        order = tuple(dict.fromkeys(joined))
        is_many = "panel" in assigned or len(order) > MOST_PANELS
        name = remaining[0] if len(remaining) == 1 else TOGETHER
        assigned["pick" if is_many else "panel"] = name
        if len(remaining) > 1:
            keys[TOGETHER] = TOGETHER
            columns.append(Column(TOGETHER, "", "text", order))
            heads = [[*head, text] for head, text in zip(heads, joined, strict=True)]
    failed = any(datum.status != "ok" for datum in data)
    judged = any(datum.judged for datum in data)
    rows = [
        (*head, *datum.values, *(datum.status,) * failed, *(datum.judged,) * judged)
        for head, datum in zip(heads, data, strict=True)
    ]
    marks = (STATUS,) * failed + (JUDGED,) * judged
    frame = Frame((*columns, *values, *marks), rows)
    return frame, Channels(**{c: keys[name] for c, name in assigned.items()})


def _dimension_keys(frame: Frame) -> list[str]:
    keys = [column.key for column in frame.columns]
    return [key for key in keys if key == TOGETHER or key[:1] == "d"]


def varied(places: Iterable[Dimensions]) -> dict[str, list[str]]:
    """The dimensions with more than one value, in the plan's order, and their texts."""
    texts: dict[str, dict[str, None]] = {}
    for place in places:
        for name, text in place.items():
            texts.setdefault(name, {})[text] = None
    return {name: list(values) for name, values in texts.items() if len(values) > 1}


def together(dimensions: Dimensions) -> str:
    """Several dimensions in one text."""
    return ", ".join(f"{name} {value}" for name, value in dimensions.items())


def without(dimensions: Mapping[str, str], *names: str) -> Dimensions:
    return {name: text for name, text in dimensions.items() if name not in names}


def tied(places: Sequence[Dimensions]) -> dict[str, str]:
    """Axes that move together: each later one to the first that it goes with."""
    everywhere = set.intersection(*(set(p) for p in places)) if places else set()
    names = [n for n in (places[0] if places else ()) if n in everywhere - {"session"}]
    ties: dict[str, str] = {}
    for first, name in combinations(names, 2):
        if first not in ties and name not in ties:
            pairs = {(place[first], place[name]) for place in places}
            sizes = {len(set(texts)) for texts in zip(*pairs, strict=True)}
            if sizes == {len(pairs)} and len(pairs) > 1:
                ties[name] = first
    return ties


def _untied(places: Sequence[Dimensions]) -> Sequence[Dimensions]:
    """The values of axes that move together in one text."""
    ties = tied(places)
    if not ties:
        return places
    untied = []
    for place in places:
        joined = without(place, *ties)
        for name, first in ties.items():
            joined[first] += f" ({axis_title(name)} {place[name]})"
        untied.append(joined)
    return untied


def _assigned(
    sizes: Mapping[str, int], per: Sequence[str], colored: bool, dashes: int
) -> dict[str, str]:
    """Channel to dimension: sessions and what the plan names come first."""
    free, assigned = dict(sizes), dict[str, str]()

    def assign(channel: str, name: str, most: int) -> None:
        """If both are free, and the channel has room for it."""
        if channel not in assigned and 1 < free.get(name, 0) <= most:
            del free[name]
            assigned[channel] = name

    named, sessions = next((n for n in per if n in sizes), ""), sizes.get("session", 0)
    if not colored:
        assign("panel", "session", MOST_PANELS)
        return assigned
    if 0 < sessions <= MOST_PANELS and sizes.get(named, 0) > min(FEW, dashes):
        assign("color", named, MOST_COLORS)
        assign("panel", "session", MOST_PANELS)
    assign("color", "session", ANY_NUMBER)
    for name in (named, "metric"):
        assign("color", name, MOST_COLORS)
        assign("dash", name, dashes)
    assign("color", next((n for n in free if free[n] <= MOST_COLORS), ""), MOST_COLORS)
    assign("dash", "step", dashes)
    return assigned
