"""How many sessions a plan needs, so that `compare` finds a change of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p, sqrt
from statistics import median

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from ioplan.core.model import Model
from ioplan.core.statistics.shared_variance import Variance
from ioplan.language.metric import Metric
from ioplan.records.session import Session
from ioplan.records.setup import Setup
from ioplan.results.compare.blocks import alternating
from ioplan.results.compare.decision import (
    ALPHA,
    CELL_SHARE,
    COMMON_SHARE,
    UNKNOWN_NOISE,
)
from ioplan.results.compare.estimate import (
    ASSUMED,
    ASSUMED_PERCENT,
    POWER,
    Aim,
    sessions_needed,
)
from ioplan.results.compare.judge import DEFAULT_METRICS, Question
from ioplan.results.compare.noise import FEWEST_CELLS, MetricNoise, percent
from ioplan.results.compare.peers import (
    Peers,
    RunFigures,
    noise_of,
    other_sessions,
    setups_of,
)
from ioplan.results.history.limits import log_limit
from ioplan.results.history.monitor import nights_until_sure
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store

ASSUMED_SOURCE = (
    f"{UNKNOWN_NOISE}; assumed are {ASSUMED_PERCENT:g} %, in each cell by itself"
)


BEFORE, MOST_NIGHTS, DRAWN = 30, 60, 9
"""Of so many series, after so many nights, each is followed for so many more."""


def nights_needed(noise: Variance, size: float, series: int) -> int | None:
    """So many after a change of a size, a logarithm, confirm it in half of the cases,
    if sessions do not resemble the ones before; None of more than MOST_NIGHTS."""
    rows = np.random.default_rng(1).normal(size=(DRAWN, BEFORE + MOST_NIGHTS))
    rows *= sqrt(noise.value)
    rows[:, BEFORE:] += size
    each = [nights_until_sure(row, BEFORE, log_limit(series)) for row in rows]
    middle = sorted(one or MOST_NIGHTS + 1 for one in each)[DRAWN // 2]
    return middle if middle <= MOST_NIGHTS else None


class MetricNeeds(Model):
    """The sessions a side that one metric needs; none of more than 50."""

    metric: str
    all_cells: int | None = Field(description="for a change that all cells share")
    one_cell: int | None = Field(
        description="for a change in one cell alone, the median one"
    )
    noisiest_cell: int | None
    nights: int | None = Field(
        description="of `history`, until a change in one cell, the median one, is "
        "confirmed in half of the cases after 30 nights; none of more than 60",
        default=None,
    )
    session_percent: float = Field(
        description="what sessions differ by, in the median cell"
    )
    source: str


class Detection(Model):
    """What a plan needs for a change to be found."""

    change_percent: float
    threshold_percent: float
    found_percent: float = Field(description="so many of 100 comparisons find it")
    cells: int
    metrics: tuple[MetricNeeds, ...]

    @property
    def order(self) -> str:
        """In which the sessions are run, as far as the most of them need."""
        counts = [n for one in self.metrics for n in (one.all_cells, one.one_cell) if n]
        return alternating(max(counts, default=3))


class On(Struct, frozen=True):
    """Which sessions a plan's own will be like; what is None is not said."""

    backend: str | None = None
    target: str | None = None

    def fits(self, session: Session, setup: Setup) -> bool:
        """Whether it is one; a simulated session only where its backend is named."""
        if self.backend is None and setup.simulated:
            return False
        return self.backend in (None, setup.backend[0]) and (
            self.target is None or session.is_on(self.target)
        )


def detection(
    store: Store | None, run_ids: Sequence[str], change_percent: float, on: On
) -> Detection:
    """How surely a loss of so much is found, by what the store knows of these runs.

    It learns from the setup of the newest session that fits. Without a store, or where
    it has nothing to learn from, noise is assumed. Raises StoreError.
    """
    peers = _peers(store, run_ids, on) if store else []
    needs = []
    for metric in DEFAULT_METRICS:
        noise = (
            noise_of(RunFigures(Reader(store), metric), peers)
            if store
            else MetricNoise()
        )
        needs.append(_needs(metric, noise, run_ids, change_percent / 100))
    return Detection(
        change_percent=change_percent,
        threshold_percent=Question().threshold_percent,
        found_percent=100 * POWER,
        cells=len(run_ids),
        metrics=tuple(needs),
    )


def _peers(store: Store, run_ids: Sequence[str], on: On) -> list[Peers]:
    known = setups_of(store, set(run_ids))
    fitting = (setup for session, setup in known if on.fits(session, setup))
    newest = next(fitting, None)
    return other_sessions(store, run_ids, {newest}) if newest else []


def _needs(
    metric: Metric, noise: MetricNoise, run_ids: Sequence[str], change: float
) -> MetricNeeds:
    cells = len(run_ids)
    known = [one for key in noise.own if (one := noise.session(key))]
    sizes = sorted(known or [ASSUMED], key=lambda one: one.value)
    assumed = Variance(ASSUMED.value / cells, ASSUMED.degrees)
    shared = noise.shared if known else assumed
    aim = Aim(-log1p(-change), log1p(Question().threshold_percent / 100), ALPHA)
    pooled = shared is not None and cells >= FEWEST_CELLS
    share = CELL_SHARE if pooled else CELL_SHARE + COMMON_SHARE
    each = replace(aim, p_value=ALPHA * share / (cells * len(DEFAULT_METRICS)))
    every = replace(aim, p_value=ALPHA * COMMON_SHARE)
    return MetricNeeds(
        metric=str(metric),
        all_cells=sessions_needed(shared, every) if pooled and shared else None,
        one_cell=sessions_needed(sizes[len(sizes) // 2], each),
        noisiest_cell=sessions_needed(sizes[-1], each),
        nights=nights_needed(
            sizes[len(sizes) // 2], aim.size, cells + (cells >= FEWEST_CELLS)
        ),
        session_percent=median(map(percent, sizes)),
        source=noise.source if known else ASSUMED_SOURCE,
    )
