"""What runs, sessions and drives differ by, learned from those that did the same.

All of it is on logarithms, so that a variance is a relative one. A figure of a session
is taken as a sum (a mixed model, estimated by analysis of variance):

    figure = cell + drive + session (all of its cells share it)
                  + session of that cell alone + run

Groups are sessions between which nothing is known to have changed; what differs
within them is noise. Of each cell, the own variance is drawn towards what all cells
have in common, by as much as they agree (`core.shared_variance`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import expm1, inf, sqrt
from statistics import fmean

from msgspec import Struct

from ioplan.core.statistics.shared_variance import Variance, common, moderated

Key = Hashable
"""A cell: what its runs do, the same in every session."""
Logs = Mapping[Key, tuple[float, ...]]
"""The logarithms of a session's runs, by cell."""
EXACT = 1e-12
"""The least variance, a millionth squared: figures are rounded somewhere."""
FEWEST_CELLS = 3
"""Fewer cells do not tell what is shared from what is their own."""
MIN_DEGREES = 2.0
"""Fewer degrees of freedom (two sessions, once) tell nothing that may be used."""


class Group(Struct, frozen=True):
    """Sessions on one drive between which nothing is known to have changed."""

    drive: str
    model: str
    sessions: tuple[Logs, ...]
    compared: bool = False
    """Whether they are a side of the comparison, or earlier ones of the store."""
    speaks: bool = True
    """Whether they are of a setup that is compared; else they tell of drives only."""
    place: str = ""
    """The target and the backend, for a person."""


class MetricNoise(Struct, frozen=True):
    """The components of a metric's variance, each with its degrees of freedom.

    `shared` is of the mean of a session's cells, `own` of what a cell's figure (the
    mean of its runs) has beside it, `run` of one run, `drive` of one drive of a model
    to the next. What nothing tells is absent.
    """

    shared: Variance | None = None
    own: Mapping[Key, Variance] = {}
    run: Mapping[Key, Variance] = {}
    drive: Variance | None = None
    source: str = ""
    sessions: float = 0
    """How many tell it, on the setup of which there are fewest."""

    def session(self, key: Key) -> Variance | None:
        """A cell's variance from one session to the next; None if too little is known.

        Two sessions, once, are too little: any difference could be theirs.
        """
        own = self.own.get(key)
        known = own is not None and own.degrees >= MIN_DEGREES
        return self.guess(key) if known else None

    def guess(self, key: Key) -> Variance | None:
        """A cell's variance, however little it is known by."""
        own = self.own.get(key)
        return None if self.shared is None or own is None else added(self.shared, own)


def added(*parts: Variance) -> Variance:
    """A sum of estimates, with Satterthwaite's degrees of freedom (1946)."""
    total = sum(part.value for part in parts)
    below = sum(part.value**2 / part.degrees for part in parts)
    return Variance(total, total**2 / below if below else inf)


def percent(one: Variance) -> float:
    """The standard deviation, as a share of the figure in percent."""
    return 100 * expm1(sqrt(one.value))


def learned(
    groups: Sequence[Group], keys: Iterable[Key], floor: float = EXACT
) -> MetricNoise:
    """The components of these cells; no variance is below the floor.

    Figures that never differ tell nothing, unless they are known to a step only.
    """
    keys, floor = list(keys), max(floor, EXACT)
    speaking = [group for group in groups if group.speaks]
    repeated = [group for group in speaking if len(group.sessions) > 1]
    least = EXACT if floor == EXACT else -1.0
    own, shared = _Sums(least), _Sums(least)
    for group in repeated:
        _add_group(group, keys, own, shared)
    run = _runs(speaking, keys)
    return MetricNoise(
        shared=shared.variance(None, 0.0) or _none_shared(own),
        own=_drawn_together(own, keys, floor),
        run=_drawn_together(run, keys, floor),
        drive=_drives(groups, keys),
        source=_source(repeated) if own.degrees else "",
        sessions=_fewest(repeated),
    )


def _fewest(repeated: Sequence[Group]) -> int:
    counts = Counter[str]()
    for group in repeated:
        counts[group.place] += len(group.sessions)
    return min(counts.values(), default=0)


class _Sums(Struct):
    """Sums of squares and their degrees of freedom; one of up to `least` adds none."""

    least: float = -1.0
    sums: dict[Key, float] = {}
    degrees: dict[Key, float] = {}

    def add(self, key: Key, sum_: float, degrees: float) -> None:
        if sum_ <= self.least * degrees:
            return
        self.sums[key] = self.sums.get(key, 0.0) + sum_
        self.degrees[key] = self.degrees.get(key, 0.0) + degrees

    def variance(self, key: Key, floor: float) -> Variance | None:
        degrees = self.degrees.get(key, 0.0)
        if not degrees:
            return None
        return Variance(max(self.sums[key] / degrees, floor), degrees)


def _add_group(group: Group, keys: Sequence[Key], own: _Sums, shared: _Sums) -> None:
    """A table of sessions by cells: its rows' means, and what is left of each cell."""
    off = list(_deviations(group, keys))
    cells = len({key for one in off for key in one})
    if not cells:
        return
    means = [fmean(one.values()) if cells >= FEWEST_CELLS else 0.0 for one in off]
    if cells >= FEWEST_CELLS:
        shared.add(None, sum(mean**2 for mean in means), len(off) - 1)
    for key in keys:
        left = [one[key] - m for one, m in zip(off, means, strict=True) if key in one]
        if left:
            _add_cell(own, key, left, cells)


def _add_cell(own: _Sums, key: Key, left: Sequence[float], cells: int) -> None:
    """Add a cell's own variance: beside the cells' mean it is (1 - 1 / cells) of it."""
    part = 1 - 1 / cells if cells >= FEWEST_CELLS else 1.0
    own.add(key, sum(one**2 for one in left), (len(left) - 1) * part)


def _deviations(group: Group, keys: Sequence[Key]) -> Iterator[dict[Key, float]]:
    """Each session's deviations from the group's means, in cells seen repeatedly."""
    figures = [
        {key: fmean(one[key]) for key in keys if one.get(key)} for one in group.sessions
    ]
    by_key = {key: [one[key] for one in figures if key in one] for key in keys}
    means = {key: fmean(found) for key, found in by_key.items() if len(found) > 1}
    for one in figures:
        off = {key: one[key] - means[key] for key in one if key in means}
        if off:
            yield off


def _none_shared(own: _Sums) -> Variance | None:
    """With one or two cells, all that sessions differ by is the cell's own."""
    return Variance(0.0, inf) if own.degrees else None


def _runs(groups: Sequence[Group], keys: Sequence[Key]) -> _Sums:
    sums = _Sums()
    for group in groups:
        for session in group.sessions:
            for key in keys:
                logs = session.get(key, ())
                if len(logs) > 1:
                    sums.add(key, squares(logs), len(logs) - 1)
    return sums


def squares(values: Sequence[float]) -> float:
    """The sum of the squared deviations from the mean."""
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values)


def _drawn_together(
    sums: _Sums, keys: Sequence[Key], floor: float
) -> dict[Key, Variance]:
    """Each cell's variance, helped by the others; one without has theirs alone.

    Others raise it and do not lower it: among many cells, the noisiest would else be
    taken for changed. And all of them are no surer than all that was seen.
    """
    known = {key: one for key in keys if (one := sums.variance(key, floor))}
    drawn = dict(zip(known, moderated(list(known.values())), strict=True))
    others = common(list(known.values()))
    seen = sum(sums.degrees.values())
    least = {key: one.value for key, one in known.items()}
    found = {key: one for key in keys if (one := drawn.get(key, others))}
    return {
        key: Variance(max(one.value, least.get(key, 0.0)), min(one.degrees, seen))
        for key, one in found.items()
    }


def _drives(groups: Sequence[Group], keys: Sequence[Key]) -> Variance | None:
    """The variance between drives of one model: of the mean of their common cells."""
    sums = _Sums()
    for model in dict.fromkeys(group.model for group in groups if group.model):
        drives = _by_drive([group for group in groups if group.model == model], keys)
        both = [key for key in keys if all(key in one for one in drives)]
        if len(drives) > 1 and both:
            means = [fmean(one[key] for key in both) for one in drives]
            sums.add(None, squares(means), len(drives) - 1)
    return sums.variance(None, 0.0)


def _by_drive(groups: Sequence[Group], keys: Sequence[Key]) -> list[dict[Key, float]]:
    """The figure of each cell on each drive, over all of its sessions."""
    sessions: dict[str, list[Logs]] = {}
    for group in groups:
        sessions.setdefault(group.drive, []).extend(group.sessions)
    return [
        {
            key: fmean(logs)
            for key in keys
            if (logs := [fmean(one[key]) for one in found if one.get(key)])
        }
        for found in sessions.values()
    ]


def _source(repeated: Sequence[Group]) -> str:
    """Which sessions it comes from."""
    compared = sum(len(one.sessions) for one in repeated if one.compared)
    earlier = sum(len(one.sessions) for one in repeated if not one.compared)
    places = dict.fromkeys(one.place for one in repeated if not one.compared)
    on = " and ".join(f" on {place}" for place in places if place)
    parts = [f"the {compared} sessions compared"] if compared else []
    parts += [f"{earlier} others that did the same runs{on}"] if earlier else []
    return " and ".join(parts)
