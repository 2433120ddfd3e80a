"""What a plan asks to be judged or drawn, and a backend does not measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ioplan.backends.backend import Backend, Gap
from ioplan.job import Job
from ioplan.language.clause_table import slot
from ioplan.language.metric import Metric
from ioplan.language.plan import Chart, Test
from ioplan.language.spoken import unspoken
from ioplan.planner.steps import Prepare, Run
from ioplan.results.measure.series import in_series

NO_GAP = "it does not measure the longest time without a completed I/O"
NO_COMMIT = "it does not measure the latency of a commit, but of a flush"
UNDECIDED = "what asks for it has no figure, and stays undecided"
EMPTY = "what asks for it in headlines, tables and charts stays empty"
OVER_TIME = ("lines", "scatter", "bands", "heatmap")


def gaps_of(backend: Backend, job: Job, options: dict[str, Any]) -> list[Gap]:
    """All that a backend cannot do exactly: what it never heard of comes first.

    A gap of its own in the same place tells more, and takes its stead. Of a stream
    that it cannot do at all, nothing else is told.
    """
    own = backend.gaps(job, options)
    known = {(gap.stream, slot(gap.field)) for gap in own}
    strange = unspoken(job, backend.speaks)
    found = [gap for gap in strange if (gap.stream, gap.field) not in known] + own
    missing = {one.stream: one for one in found if _is_all_of_it(one)}
    return [one for one in found if missing.get(one.stream, one) is one]


def _is_all_of_it(gap: Gap) -> bool:
    return slot(gap.field) == "pattern" and not gap.instead


def unmeasured(
    step: Run | Prepare, job: Job, backend: Backend, options: dict[str, Any]
) -> Iterator[Gap]:
    """Of gaps, commits, and what charts over time are made of."""
    if isinstance(step, Prepare):
        return
    stream, judged = step.workload.streams[0].name, _judged(step.test)
    if not getattr(backend, "measures_gaps", False) and _ask(judged, "gap"):
        yield _gap(stream, "gap", NO_GAP, UNDECIDED)
    if not getattr(backend, "measures_commits", False):
        if any(metric.direction == "commit" for metric in judged):
            yield Gap(stream=stream, field="commit", reason=NO_COMMIT)
        elif any(metric.direction == "commit" for metric in step.test.metrics):
            yield _gap(stream, "commit", NO_COMMIT, EMPTY)
    if not job.exact_intervals and any(map(_is_of_counts, step.test.charts)):
        yield from _of_intervals(job, backend, options)


def _gap(stream: str, field: str, reason: str, instead: str) -> Gap:
    """One that stops nothing."""
    parts = {"reason": reason, "instead": instead}
    return Gap(stream=stream, field=field, mild=True, **parts)


def _judged(test: Test) -> list[Metric]:
    """What is expected, or sought."""
    found = [one.metric for one in test.expectations]
    found += [one.of_metric for one in test.expectations if one.of_metric]
    return found + [one.metric for one in test.seek.where] if test.seek else found


def _ask(metrics: Iterable[Metric], name: str) -> bool:
    return any(metric.name == name for metric in metrics)


def _is_of_counts(chart: Chart) -> bool:
    """Whether a chart over time needs what each stream counted in each interval."""
    over = chart.by[:1] or (("time",) if chart.kind in ("scatter", "bands") else ())
    if over != ("time",) or chart.kind not in OVER_TIME:
        return False
    return chart.kind == "heatmap" or not all(map(in_series, chart.metrics))


def _of_intervals(job: Job, backend: Backend, options: dict[str, Any]) -> Iterator[Gap]:
    """What the backend says of intervals that a plan asks to be exact, as a warning."""
    asked = job.model_copy(update={"exact_intervals": True})
    for gap in gaps_of(backend, asked, options):
        if gap.field == "interval":
            instead = gap.instead or "charts over time of streams stay empty"
            yield _gap(gap.stream, "interval", gap.reason, instead)
