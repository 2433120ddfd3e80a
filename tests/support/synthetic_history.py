"""Series whose truth is known."""

from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ioplan.results.history import Question
from ioplan.results.history.judge import history_of
from ioplan.results.history.sessions import CONDITIONS, Cell, SessionFigures

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOISE = 0.02
"""The standard deviation from one session to the next, as a share."""
RESEMBLES = {"resembling": 0.3, "wandering": 0.92}
"""The correlation of a session with the next."""
KINDS = ("independent", "heavy-tailed", "resembling", "wandering", "two-state")
SAME = dict.fromkeys(CONDITIONS, "same")

Values = NDArray[np.float64]


def correlated(rng, rows, count, share):
    """Normal values of variance 1; each has `share` of the one before in it."""
    values = rng.normal(size=(rows, count))
    values[:, 1:] *= (1 - share**2) ** 0.5
    for at in range(1, count) if share else ():
        values[:, at] += share * values[:, at - 1]
    return values


def noise(rng, kind, rows, count):
    """Rows of variance 1; heavy tails are Student's t with three degrees of freedom."""
    if kind == "heavy-tailed":
        return rng.standard_t(3, size=(rows, count)) / 3**0.5
    if kind == "two-state":
        states = rng.choice((-1.0, 1.0), size=(rows, count))
        return 0.9 * states + 0.44 * rng.normal(size=(rows, count))
    return correlated(rng, rows, count, RESEMBLES.get(kind, 0.0))


def series_of(values):
    """What is said of the cells, without the summary."""
    keys = [(f"run-{row}", 0) for row in range(len(values))]
    sessions = [
        SessionFigures(
            session=f"s{number:05}",
            at=(BEGAN + timedelta(days=number)).isoformat(),
            conditions=SAME,
            figures={
                "iops": {
                    key: (float(value),)
                    for key, value in zip(keys, column, strict=True)
                }
            },
        )
        for number, column in enumerate(values.T)
    ]
    cells = [Cell(key, key[0], "T", (("qd", key[0]),)) for key in keys]
    found = history_of("p", sessions, cells, len(cells), Question())
    return [series for series in found.series if series.run_id]
