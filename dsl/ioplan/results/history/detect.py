"""How many sessions a plan needs, so that `compare` finds a change of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p, sqrt
from statistics import median

import numpy as np
from msgspec import Struct
from pydantic import Field

from ioplan.core.model import Model
from ioplan.core.statistics.shared_variance import Variance
from ioplan.language.metric import Metric
from ioplan.records.session import Session
from ioplan.records.setup import Setup
from ioplan.results.compare.blocks import alternating
from ioplan.results.compare.decision import (
    ALPHA,
    ASSUMED,
    ASSUMED_PERCENT,
    CELL_SHARE,
    COMMON_SHARE,
    POWER,
    UNKNOWN_NOISE,
    sessions_needed,
)
from ioplan.results.compare.judge import DEFAULT_METRICS, Question
from ioplan.results.compare.noise import (
    FEWEST_CELLS,
    MetricNoise,
    RunFigures,
    noise_of,
    other_sessions,
    percent,
    setups_of,
)
from ioplan.results.history.monitor import log_limit, nights_until_sure
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store

ASSUMED_SOURCE = (
    f"{UNKNOWN_NOISE}; assumed are {ASSUMED_PERCENT:g} %, in each cell by itself"
)


BEFORE, MOST_NIGHTS, DRAWN = 30, 60, 9
"""So many series are followed for MOST_NIGHTS after BEFORE nights."""


class MetricNeeds(Model):
    metric: str
    all_cells: int | None = Field(description="for a change that all cells share")
    one_cell: int | None = Field(description="for a change in the median cell alone")
    noisiest_cell: int | None
    nights: int | None = Field(
        None,
        description="of `history`, until a change in the median cell is confirmed in "
        "half of the cases after 30 nights; none of more than 60",
    )
    session_percent: float = Field(description="noise of sessions in the median cell")
    source: str


class Detection(Model):
    """The sessions that a plan needs to detect a change."""

    change_percent: float
    threshold_percent: float
    found_percent: float = Field(description="so many of 100 comparisons detect it")
    cells: int
    metrics: tuple[MetricNeeds, ...]

    @property
    def order(self) -> str:
        """The order of the sessions, as far as the neediest metric goes."""
        counts = [n for m in self.metrics for n in (m.all_cells, m.one_cell) if n]
        return alternating(max(counts, default=3))


class On(Struct, frozen=True):
    """The target and the backend that the plan is to run on, where they are known."""

    backend: str | None = None
    target: str | None = None

    def fits(self, session: Session, setup: Setup) -> bool:
        """Whether a session is on them; simulated ones only if the backend is named."""
        if self.backend is None and setup.simulated:
            return False
        is_backend = self.backend in (None, setup.backend[0])
        return is_backend and (self.target is None or session.is_on(self.target))


def detection(
    store: Store | None, run_ids: Sequence[str], change_percent: float, on: On
) -> Detection:
    """The sessions that detect such a loss, by the noise of these runs in the store.

    It is that of the setup of the newest session that fits. Without a store, or without
    such sessions, it is assumed. Raises StoreError.
    """
    noise = {metric: MetricNoise() for metric in DEFAULT_METRICS}
    if store:
        setups = setups_of(store, set(run_ids))
        newest = next((own for session, own in setups if on.fits(session, own)), None)
        peers = other_sessions(store, run_ids, {newest}) if newest else []
        for metric in noise:
            noise[metric] = noise_of(RunFigures(Reader(store), metric), peers)
    cells, change = len(run_ids), change_percent / 100
    return Detection(
        change_percent=change_percent,
        threshold_percent=Question().threshold_percent,
        found_percent=100 * POWER,
        cells=cells,
        metrics=tuple(_needs(m, own, cells, change) for m, own in noise.items()),
    )


def _needs(
    metric: Metric, noise: MetricNoise, cells: int, change: float
) -> MetricNeeds:
    own = [variance for key in noise.own if (variance := noise.session(key))]
    sizes = sorted(own or [ASSUMED], key=lambda variance: variance.value)
    shared = noise.shared
    if not own:
        shared = Variance(ASSUMED.value / cells, ASSUMED.degrees)
    size, limit = -log1p(-change), log1p(Question().threshold)
    share, all_cells = CELL_SHARE + COMMON_SHARE, None
    if shared is not None and cells >= FEWEST_CELLS:
        share = CELL_SHARE
        all_cells = sessions_needed(shared, size, limit, ALPHA * COMMON_SHARE)
    p_value = ALPHA * share / (cells * len(DEFAULT_METRICS))
    middle = sizes[len(sizes) // 2]
    return MetricNeeds(
        metric=str(metric),
        all_cells=all_cells,
        one_cell=sessions_needed(middle, size, limit, p_value),
        noisiest_cell=sessions_needed(sizes[-1], size, limit, p_value),
        nights=nights_needed(middle, size, cells + (cells >= FEWEST_CELLS)),
        session_percent=median(map(percent, sizes)),
        source=noise.source if own else ASSUMED_SOURCE,
    )


def nights_needed(noise: Variance, size: float, series: int) -> int | None:
    """The nights after a change of a size, a logarithm, that confirm it in half of the
    cases, if sessions are independent; None of more than MOST_NIGHTS."""
    rows = np.random.default_rng(1).normal(size=(DRAWN, BEFORE + MOST_NIGHTS))
    rows *= sqrt(noise.value)
    rows[:, BEFORE:] += size
    nights = [nights_until_sure(row, BEFORE, log_limit(series)) for row in rows]
    middle = sorted(count or MOST_NIGHTS + 1 for count in nights)[DRAWN // 2]
    return middle if middle <= MOST_NIGHTS else None
