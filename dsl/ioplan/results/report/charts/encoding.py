"""Which dimension of the rows becomes colour, dash, panel or choice."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ioplan.results.report.charts.axis import axis_title, in_order
from ioplan.results.report.documents import (
    JUDGED,
    STATUS,
    Channels,
    Column,
    Frame,
    Value,
)
from ioplan.results.report.point import Dimensions, Point

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


class _Channels(Struct):
    """Dimensions that vary, and the channels that some of them were assigned."""

    sizes: dict[str, int]
    assigned: dict[str, str] = {}

    def assign(self, channel: str, name: str, most: int) -> None:
        """Assign a dimension, if both are free and the channel has room for it."""
        if channel in self.assigned or not 1 < self.sizes.get(name, 0) <= most:
            return
        del self.sizes[name]
        self.assigned[channel] = name


def varied(points: Sequence[Point]) -> dict[str, list[str]]:
    """The dimensions with more than one value, in the plan's order, and their texts."""
    texts: dict[str, dict[str, None]] = {}
    for point in points:
        for name, text in point.dimensions.items():
            texts.setdefault(name, {})[text] = None
    return {name: list(each) for name, each in texts.items() if len(each) > 1}


def framed(
    data: Sequence[Datum],
    values: tuple[Column, ...],
    per: Sequence[str] = (),
    colored: bool = True,
    dashes: int = MOST_DASHES,
) -> tuple[Frame, Channels]:
    """Rows with a column for each dimension that varies, then the values.

    `per` is what the plan wants a line for each of. Without `colored`, curves
    cannot share a panel; `dashes` is how many kinds of line there are. The status
    has a column where something failed.
    """
    data = _untied(data)
    texts = _varying(data)
    sizes = {name: len(found) for name, found in texts.items()}
    assigned = _assigned(sizes, per, colored, dashes)
    keys = {name: f"d{number}" for number, name in enumerate(texts)}
    columns = [
        Column(keys[name], axis_title(name), "text", in_order(found))
        for name, found in texts.items()
    ]
    heads = [tuple(one.dimensions[n] for n in texts) for one in data]
    rest = [name for name in texts if name not in assigned.values()]
    channel = "pick" if "panel" in assigned or _many(data, rest) else "panel"
    if len(rest) == 1:
        assigned[channel] = rest[0]
    elif rest:
        keys[TOGETHER], assigned[channel] = TOGETHER, TOGETHER
        joined = [together({n: one.dimensions[n] for n in rest}) for one in data]
        columns.append(Column(TOGETHER, "", "text", tuple(dict.fromkeys(joined))))
        heads = [(*head, text) for head, text in zip(heads, joined, strict=True)]
    last, tails = _told(data)
    rows = [
        (*head, *one.values, *tail)
        for head, one, tail in zip(heads, data, tails, strict=True)
    ]
    frame = Frame((*columns, *values, *last), rows)
    return frame, Channels(**{c: keys[name] for c, name in assigned.items()})


def _told(data: Sequence[Datum]) -> tuple[tuple[Column, ...], list[tuple[str, ...]]]:
    """The columns on what went wrong, where anything did, and their texts."""
    failed = any(one.status != "ok" for one in data)
    judged = any(one.judged for one in data)
    columns = (STATUS,) * failed + (JUDGED,) * judged
    texts = [(one.status,) * failed + (one.judged,) * judged for one in data]
    return columns, texts


def same_dimensions(one: Frame, other: Frame) -> bool:
    """Whether both have the same columns before their values."""
    return _dimension_keys(one) == _dimension_keys(other)


def _dimension_keys(frame: Frame) -> list[str]:
    keys = [column.key for column in frame.columns]
    return [key for key in keys if key == TOGETHER or key[:1] == "d"]


def together(dimensions: Dimensions) -> str:
    """Several dimensions in one text."""
    return ", ".join(f"{name} {value}" for name, value in dimensions.items())


def tied(places: Sequence[Dimensions]) -> dict[str, str]:
    """Axes that move together: each later one to the first that it goes with."""
    everywhere = set.intersection(*(set(p) for p in places)) if places else set()
    names = [n for n in (places[0] if places else ()) if n in everywhere - {"session"}]
    found: dict[str, str] = {}
    for number, name in enumerate(names):
        for first in names[:number]:
            if first not in found and _move_together(places, first, name):
                found[name] = first
                break
    return found


def _move_together(places: Sequence[Dimensions], one: str, other: str) -> bool:
    """Whether each value of either always comes with one value of the other."""
    pairs = {(p[one], p[other]) for p in places}
    ones, others = {a for a, _ in pairs}, {b for _, b in pairs}
    return 1 < len(pairs) == len(ones) == len(others)


def _untied(data: Sequence[Datum]) -> list[Datum]:
    """Rows with the values of axes that move together in one text."""
    ties = tied([one.dimensions for one in data])
    if not ties:
        return list(data)
    made = []
    for one in data:
        joined = {n: t for n, t in one.dimensions.items() if n not in ties}
        for name, first in ties.items():
            joined[first] += f" ({axis_title(name)} {one.dimensions[name]})"
        made.append(replace(one, dimensions=joined))
    return made


def _varying(data: Sequence[Datum]) -> dict[str, list[str]]:
    """Dimensions that all rows have, with more than one value."""
    if not data:
        return {}
    found: dict[str, dict[str, None]] = {name: {} for name in data[0].dimensions}
    for one in data:
        for name in list(found):
            if name in one.dimensions:
                found[name][one.dimensions[name]] = None
            else:
                del found[name]
    return {name: list(texts) for name, texts in found.items() if len(texts) > 1}


def _many(data: Sequence[Datum], names: list[str]) -> bool:
    return len({tuple(one.dimensions[n] for n in names) for one in data}) > MOST_PANELS


def _assigned(
    sizes: dict[str, int], per: Sequence[str], colored: bool, dashes: int
) -> dict[str, str]:
    """Channel to dimension: sessions and what the plan names come first."""
    channels = _Channels(dict(sizes))
    wanted = next((name for name in per if name in sizes), "")
    if not colored:
        channels.assign("panel", "session", MOST_PANELS)
        return channels.assigned
    shared = sizes.get("session", 0) <= MOST_PANELS
    if "session" in sizes and shared and wanted and sizes[wanted] > min(FEW, dashes):
        channels.assign("color", wanted, MOST_COLORS)
        channels.assign("panel", "session", MOST_PANELS)
    channels.assign("color", "session", ANY_NUMBER)
    for channel, most in (("color", MOST_COLORS), ("dash", dashes)):
        if wanted not in channels.assigned.values():
            channels.assign(channel, wanted, most)
    for channel, most in (("color", MOST_COLORS), ("dash", dashes)):
        channels.assign(channel, "metric", most)
    if "color" not in channels.assigned:
        fitting = [n for n, size in channels.sizes.items() if size <= MOST_COLORS]
        channels.assign("color", fitting[0] if fitting else "", MOST_COLORS)
    channels.assign("dash", "step", dashes)
    return channels.assigned
