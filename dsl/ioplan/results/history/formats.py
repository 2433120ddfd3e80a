"""A history for other programs.

- Otava (https://otava.apache.org), once Hunter: a CSV file with a column of times, one
  for each attribute and one for each metric, a row for each session, the oldest first.
  It takes no row without a number in every column, and one file is one test.
- Bencher (https://bencher.dev): the Bencher Metric Format, of one session: benchmarks
  with measures, each with a value and the limits of its band.
"""

from __future__ import annotations

import csv
import io
import json

from ioplan.core.formats import FormatError
from ioplan.results.history.model import History, Series

ATTRIBUTES = ("session",)
MOST_MEASURE = 64
"""Characters of a measure's name in Bencher."""


def as_json(found: History) -> bytes:
    """All that is known."""
    return f"{found.model_dump_json(indent=2)}\n".encode()


def otava(found: History) -> bytes:
    """One group: the sessions that have all of its series. Raises FormatError."""
    groups = {tuple(series.group.items()) for series in found.series}
    if len(groups) > 1:
        names = sorted(", ".join(text for _, text in one if text) for one in groups)
        raise FormatError(
            f"a file for Otava is of one drive, and these are {len(groups)}: "
            f"{'; '.join(names)}: name one with --only drive=TEXT"
        )
    by_session = [
        {point.session: point.value for point in one.points} for one in found.series
    ]
    times = {point.session: point.at for one in found.series for point in one.points}
    whole = [name for name in times if all(name in values for values in by_session)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [f"{one.name} {one.metric}".replace(",", "") for one in found.series]
    writer.writerow(["time", *ATTRIBUTES, *names])
    for session in sorted(whole):
        values = (one[session] for one in by_session)
        writer.writerow([times[session], session, *values])
    return out.getvalue().encode()


def bencher(found: History) -> bytes:
    """The newest session of each series."""
    made: dict[str, dict[str, dict[str, float]]] = {}
    for series in found.series:
        measure = series.metric[:MOST_MEASURE]
        made.setdefault(_benchmark(series, found), {})[measure] = _measured(series)
    return f"{json.dumps(made, indent=2)}\n".encode()


def _benchmark(series: Series, found: History) -> str:
    """Plan, test and cell; what parts them, where there are several."""
    several = len({tuple(one.group.items()) for one in found.series}) > 1
    group = [text for text in series.group.values() if text] if several else []
    return " / ".join(filter(None, [found.plan, series.name, *group]))


def _measured(series: Series) -> dict[str, float]:
    value = {"value": series.points[-1].value}
    if series.noise_percent is None:
        return value
    newest = series.levels[-1]
    return {**value, "lower_value": newest.low, "upper_value": newest.high}
