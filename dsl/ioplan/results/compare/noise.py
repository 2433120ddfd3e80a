"""What runs, sessions and drives differ by, estimated from those that did the same.

All of it is on logarithms, so that a variance is a relative one. A session's figure is
modelled as a sum (a mixed model, estimated by analysis of variance):

    figure = cell + drive + session (all of its cells share it)
                  + session of that cell alone + run

Groups are sessions between which nothing is known to have changed; what differs
within them is noise. A cell's own variance is drawn towards that of all cells, the
more, the more they agree (`core.statistics.shared_variance`).
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
"""With fewer cells, a shared effect and those of single cells look the same."""
MIN_DEGREES = 2.0
"""With fewer degrees of freedom (two sessions, once) a variance is not usable."""


class Group(Struct, frozen=True):
    """Sessions on one drive between which nothing is known to have changed.

    References are of a setup that is compared; other groups only show what drives
    differ by. `place` is the drive and the backend, for a person.
    """

    drive: str
    model: str
    sessions: tuple[Logs, ...]
    is_compared: bool = False
    is_reference: bool = True
    place: str = ""


class MetricNoise(Struct, frozen=True):
    """The components of a metric's variance, with their degrees of freedom.

    `shared` is of the mean of a session's cells, `own` of what a cell's figure (the
    mean of its runs) has beyond it, `run` of a single run, `drive` from one drive of a
    model to the next. `sessions` is how many were used, on the setup with the fewest.
    """

    shared: Variance | None = None
    own: Mapping[Key, Variance] = {}
    run: Mapping[Key, Variance] = {}
    drive: Variance | None = None
    source: str = ""
    sessions: float = 0

    def session(self, key: Key) -> Variance | None:
        """A cell's variance from one session to the next.

        None with too few degrees of freedom: two sessions differ by anything.
        """
        own = self.own.get(key)
        is_usable = own is not None and own.degrees >= MIN_DEGREES
        return self.guess(key) if is_usable else None

    def guess(self, key: Key) -> Variance | None:
        """As `session`, with however few degrees of freedom."""
        own = self.own.get(key)
        return None if self.shared is None or own is None else total(self.shared, own)


def total(*parts: Variance) -> Variance:
    """A sum of estimates, with Satterthwaite's degrees of freedom (1946)."""
    value = sum(part.value for part in parts)
    below = sum(part.value**2 / part.degrees for part in parts)
    return Variance(value, value**2 / below if below else inf)


def percent(variance: Variance) -> float:
    """The standard deviation, as a share of the figure in percent."""
    return 100 * expm1(sqrt(variance.value))


def estimate_noise(
    groups: Sequence[Group], keys: Iterable[Key], floor: float = EXACT
) -> MetricNoise:
    """The components for these cells; no variance is below the floor.

    Figures that never differ are evidence only where they are rounded to a step.
    """
    keys, floor = list(keys), max(floor, EXACT)
    references = [group for group in groups if group.is_reference]
    repeated = [group for group in references if len(group.sessions) > 1]
    negligible = EXACT if floor == EXACT else -1.0
    own, shared = SquareSums(negligible), SquareSums(negligible)
    for group in repeated:
        _add_group(group, keys, own, shared)
    # with one or two cells, all variance is their own
    unshared = Variance(0.0, inf) if own.degrees else None
    return MetricNoise(
        shared=shared.variance(None, 0.0) or unshared,
        own=_moderated(own, keys, floor),
        run=_moderated(_run_sums(references, keys), keys, floor),
        drive=_drive_variance(groups, keys),
        source=_source(repeated) if own.degrees else "",
        sessions=_fewest_sessions(repeated),
    )


class SquareSums(Struct):
    """Sums of squares and their degrees of freedom, by cell.

    A sum of up to `negligible` for a degree of freedom adds neither.
    """

    negligible: float = -1.0
    sums: dict[Key, float] = {}
    degrees: dict[Key, float] = {}

    def add(self, key: Key, squares: float, degrees: float) -> None:
        if squares <= self.negligible * degrees:
            return
        self.sums[key] = self.sums.get(key, 0.0) + squares
        self.degrees[key] = self.degrees.get(key, 0.0) + degrees

    def variance(self, key: Key, floor: float) -> Variance | None:
        degrees = self.degrees.get(key, 0.0)
        if not degrees:
            return None
        return Variance(max(self.sums[key] / degrees, floor), degrees)


def _add_group(
    group: Group, keys: Sequence[Key], own: SquareSums, shared: SquareSums
) -> None:
    """Analyse a table of sessions by cells: its rows' means, and the residuals."""
    rows = list(_deviations(group, keys))
    cells = len({key for row in rows for key in row})
    if not cells:
        return
    is_shared = cells >= FEWEST_CELLS
    means = [fmean(row.values()) if is_shared else 0.0 for row in rows]
    if is_shared:
        shared.add(None, sum(mean**2 for mean in means), len(rows) - 1)
    # of a cell's variance, 1 / cells is in the mean of the cells
    part = 1 - 1 / cells if is_shared else 1.0
    for key in keys:
        residuals = [
            row[key] - mean for row, mean in zip(rows, means, strict=True) if key in row
        ]
        if residuals:
            squares = sum(residual**2 for residual in residuals)
            own.add(key, squares, (len(residuals) - 1) * part)


def _deviations(group: Group, keys: Sequence[Key]) -> Iterator[dict[Key, float]]:
    """By session, the deviations from the group's means, of cells that it repeated."""
    rows = [
        {key: fmean(logs[key]) for key in keys if logs.get(key)}
        for logs in group.sessions
    ]
    columns = {key: [row[key] for row in rows if key in row] for key in keys}
    means = {key: fmean(column) for key, column in columns.items() if len(column) > 1}
    for row in rows:
        deviations = {key: row[key] - means[key] for key in row if key in means}
        if deviations:
            yield deviations


def _run_sums(groups: Sequence[Group], keys: Sequence[Key]) -> SquareSums:
    sums = SquareSums()
    for group in groups:
        for session in group.sessions:
            for key in keys:
                logs = session.get(key, ())
                if len(logs) > 1:
                    sums.add(key, _squares(logs), len(logs) - 1)
    return sums


def _squares(values: Sequence[float]) -> float:
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values)


def _moderated(
    sums: SquareSums, keys: Sequence[Key], floor: float
) -> dict[Key, Variance]:
    """The variances of cells, moderated by those of the others.

    Others raise a variance and never lower it, or the noisiest of many cells would look
    changed. A cell without one has what is common, and none has more degrees of freedom
    than all of them together.
    """
    single = {key: own for key in keys if (own := sums.variance(key, floor))}
    drawn = dict(zip(single, moderated(list(single.values())), strict=True))
    usual = common(list(single.values()))
    most_degrees = sum(sums.degrees.values())
    variances = {key: variance for key in keys if (variance := drawn.get(key, usual))}
    return {
        key: Variance(
            max(variance.value, single[key].value if key in single else 0.0),
            min(variance.degrees, most_degrees),
        )
        for key, variance in variances.items()
    }


def _drive_variance(groups: Sequence[Group], keys: Sequence[Key]) -> Variance | None:
    """The variance between drives of a model, in the mean of their common cells."""
    sums = SquareSums()
    for model in dict.fromkeys(group.model for group in groups if group.model):
        drives = _by_drive([group for group in groups if group.model == model], keys)
        common_keys = [key for key in keys if all(key in drive for drive in drives)]
        if len(drives) > 1 and common_keys:
            means = [fmean(drive[key] for key in common_keys) for drive in drives]
            sums.add(None, _squares(means), len(drives) - 1)
    return sums.variance(None, 0.0)


def _by_drive(groups: Sequence[Group], keys: Sequence[Key]) -> list[dict[Key, float]]:
    """The figures of a drive's cells, over all of its sessions."""
    sessions: dict[str, list[Logs]] = {}
    for group in groups:
        sessions.setdefault(group.drive, []).extend(group.sessions)
    return [
        {
            key: fmean(means)
            for key in keys
            if (means := [fmean(logs[key]) for logs in drive if logs.get(key)])
        }
        for drive in sessions.values()
    ]


def _fewest_sessions(repeated: Sequence[Group]) -> int:
    counts = Counter[str]()
    for group in repeated:
        counts[group.place] += len(group.sessions)
    return min(counts.values(), default=0)


def _source(repeated: Sequence[Group]) -> str:
    """Which sessions the noise is from."""
    compared = sum(len(group.sessions) for group in repeated if group.is_compared)
    others = [group for group in repeated if not group.is_compared]
    count = sum(len(group.sessions) for group in others)
    places = " and ".join(dict.fromkeys(group.place for group in others if group.place))
    parts = [f"the {compared} sessions compared"] if compared else []
    if count:
        where = f" ({places})" if places else ""
        parts.append(f"{count} other sessions with the same runs{where}")
    return " and ".join(parts)
