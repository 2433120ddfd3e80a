"""`ioplan compare`: read both sides, judge, print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, USAGE
from ioplan.cli.sessions.bundles import results_of
from ioplan.cli.sessions.written import Written, document_of, print_or_write
from ioplan.core.formats import writer_of
from ioplan.language.metric import Metric, MetricError, parse_metric
from ioplan.language.quantity import QuantityError, parse_quantity
from ioplan.results.compare.blocks import blocks, github, junit, markdown
from ioplan.results.compare.comparison import Comparison
from ioplan.results.compare.judge import DEFAULT_METRICS, Question, compare
from ioplan.results.compare.side import Side, side_of
from ioplan.results.report.reader import Reader
from ioplan.results.report.writers import terminal
from ioplan.results.store.store import Store

NO_RATIO = ("errors", "temperature")


class Options(Struct, frozen=True):
    """What `compare` was called with."""

    base: str
    new: str
    metrics: list[str] = []
    threshold: str = "2%"
    noise: str | None = None
    format: str = "text"
    output: Path | None = None
    force: bool = False
    everything: bool = False


def compare_sessions(
    *, store: str | None, base: str, new: str | None, to: str | None, **others: Any
) -> int:
    """1 if anything is worse or missing, 2 if all was measured otherwise, else 0.

    Raises UsageError, StoreError, BundleError.
    """
    if to is not None:
        if new is not None:
            raise UsageError("name two sessions: BASE NEW, or NEW --to BASE")
        base, new = to, base
    with results_of(store, [base, new or "last"]) as (results, (base, new)):
        options = Options(base=base, new=new, **others)
        return _judged(results, options)


def compared(place: str, base: str, new: str, threshold: str) -> Comparison:
    """The usual figures of two sides. Raises UsageError, StoreError, BundleError."""
    with results_of(place, [base, new]) as (results, (first, second)):
        return _compared(results, Options(first, second, threshold=threshold))


def _judged(store: Store, options: Options) -> int:
    write = writer_of(options.format, WRITERS, options.output)
    comparison = _compared(store, options)
    output = write(comparison, options.everything)
    print_or_write(output, options.output, options.force)
    if comparison.anything_worse or comparison.missing:
        return EXPECTATION_FAILED
    return HELD if comparison.is_judged else USAGE


def _compared(store: Store, options: Options) -> Comparison:
    parts = bool(options.metrics)
    base, new = (_side(store, keys, parts) for keys in (options.base, options.new))
    if both := {s.id for s in base.sessions} & {s.id for s in new.sessions}:
        raise UsageError(f"session {both.pop()} is on both sides")
    streams = {
        stream.name
        for side in (base, new)
        for cell in side.cells
        for stream in cell.any.asked.workload.streams
    }
    question = Question(
        metrics=tuple(ratio_metric(name, streams) for name in options.metrics)
        or DEFAULT_METRICS,
        threshold_percent=share_percent(options.threshold, "--threshold"),
        noise_percent=share_percent(options.noise, "--noise")
        if options.noise
        else None,
    )
    comparison = compare(Reader(store), base, new, question)
    if not comparison.rows:
        raise UsageError(
            f"{options.base} and {options.new} have no cell in common: a cell is one "
            "on both sides if it runs the same workload"
        )
    return comparison


def _side(store: Store, keys: str, parts: bool) -> Side:
    """`ID` or `ID,ID,…`, each once. Raises UsageError for one without a run."""
    named = [key.strip() for key in keys.split(",")]
    sessions = {session.id: session for session in map(store.session, named)}
    side = side_of(store, list(sessions.values()), parts)
    with_runs = {run.session for run in side.runs}
    for session in side.sessions:
        if session.id not in with_runs:
            raise UsageError(
                f"session {session.id} has no run to compare: it is {session.status}"
            )
    return side


def ratio_metric(name: str, streams: set[str]) -> Metric:
    """A metric that is compared as a ratio. Raises UsageError."""
    try:
        metric = parse_metric(name, streams)
    except MetricError as error:
        raise UsageError(f"--metric: {error}") from None
    if metric.name in NO_RATIO:
        raise UsageError(
            f"--metric: {name} cannot be compared as a ratio; limit it with `expect`"
        )
    return metric


def share_percent(text: str, option: str) -> float:
    """A share of at least 0 %."""
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        raise UsageError(f"{option}: {error}") from None
    if quantity.kind != "share":
        raise UsageError(f"{option} takes a share, for example 2%, not {text!r}")
    return float(quantity.value)


WRITERS: dict[str, Callable[[Comparison, bool], Written]] = {
    "text": lambda result, everything: terminal(blocks(result, everything)),
    "json": lambda result, _: document_of(result),
    "markdown": lambda result, _: markdown(result).encode(),
    "junit": lambda result, _: junit(result),
    "github": lambda result, _: github(result).encode(),
}
