"""`ioplan history`: what a plan's cells came to in all sessions that did the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.cli.commands.compare import ratio_metric, share_percent
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import results_at
from ioplan.cli.sessions.written import Written, document_of, made_text, print_or_write
from ioplan.core.formats import writer_of
from ioplan.core.text import did_you_mean
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.history.blocks import blocks, document
from ioplan.results.history.judge import Question, history
from ioplan.results.history.ledger import recorded
from ioplan.results.history.model import History
from ioplan.results.history.sessions import BY, DEFAULT_BY, Cell
from ioplan.results.report.html.page import page
from ioplan.results.report.writers import terminal
from ioplan.results.store.store import Store


class Options(Struct, frozen=True):
    """What `history` was called with."""

    session: str
    test: str | None = None
    cells: list[str] = []
    metrics: list[str] = []
    by: list[str] = []
    only: list[str] = []
    threshold: str = "1%"
    preparations: bool = False
    format: str = "text"
    output: Path | None = None
    force: bool = False
    everything: bool = False


def show_history(*, store: str | None, **others: Any) -> None:
    """Print it, or write it to a file. Raises UsageError, FormatError,
    StoreError."""
    options = Options(**others)
    write = writer_of(options.format, WRITERS, options.output)
    with results_at(store) as results:
        result = _history(results, options)
    print_or_write(write(result, options.everything), options.output, options.force)


def _history(store: Store, options: Options) -> History:
    session = store.session(options.session)
    kind = "prepare" if options.preparations else "run"
    records = [run for run in store.records(session.id) if run.asked.kind == kind]
    if not records:
        what = "preparation" if options.preparations else "run"
        raise UsageError(f"session {session.id} has no {what}: it is {session.status}")
    question = Question(
        metrics=tuple(_metric(name, records) for name in options.metrics)
        or (Metric(name="bandwidth" if options.preparations else "iops"),),
        by=tuple(_by(name) for name in options.by) or DEFAULT_BY,
        only=_conditions(options.only),
        wanted=_filter(options),
        kind=kind,
        threshold_percent=share_percent(options.threshold, "--threshold"),
        lowest=frozenset(
            run.found.axis
            for run in records
            if run.found and run.found.goal == "lowest"
        ),
    )
    ids = [run.run_id for run in records]
    result = history(store, session.plan, ids, question)
    if not question.only:
        result = recorded(store, result)
    if not result.series:
        raise _nothing(session, records, options, question)
    return result


def _nothing(
    session: Session,
    records: Sequence[RunRecord],
    options: Options,
    question: Question,
) -> UsageError:
    """Why there is no series."""
    if options.test or options.cells:
        tests = ", ".join(dict.fromkeys(run.asked.test for run in records))
        return UsageError(
            f"no cell of session {session.id} fits --test and --cell; its tests are "
            f"{tests}"
        )
    if options.only:
        return UsageError(f"no session fits --only {' '.join(options.only)}")
    names = ", ".join(map(str, question.metrics))
    return UsageError(f"{names} was not measured in any session that did the same")


def _filter(options: Options) -> Callable[[Cell], bool] | None:
    if not options.test and not options.cells:
        return None
    pairs = [_pair(text, "--cell") for text in options.cells]

    def fits(cell: Cell) -> bool:
        glob, axes = (options.test or "*").casefold(), dict(cell.cell)
        title = cell.test.casefold()
        named = title == glob or fnmatchcase(title, glob)
        return named and all(axes.get(name) == value for name, value in pairs)

    return fits


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{option} takes NAME=VALUE, for example qd=32, not {text!r}")
    return name.strip(), value.strip()


def _conditions(texts: Sequence[str]) -> dict[str, str]:
    """NAME=TEXT of `--only`, each name once."""
    conditions: dict[str, str] = {}
    for name, value in (_pair(text, "--only") for text in texts):
        if name in conditions:
            raise UsageError(f"--only says {name!r} twice")
        conditions[_by(name, "--only")] = value
    return conditions


def _by(name: str, option: str = "--by") -> str:
    if name not in BY:
        raise UsageError(
            f"{option}: there is no {name!r}{did_you_mean(name, BY)}; it is one of "
            f"{', '.join(BY)}"
        )
    return name


def _metric(name: str, records: Sequence[RunRecord]) -> Metric:
    """A metric, or the axis that a seek of the session looked for."""
    for run in records:
        if run.found and run.found.axis == name:
            return Metric(name=name, sought=run.found.kind)
    streams = {s.name for run in records for s in run.asked.workload.streams}
    return ratio_metric(name, streams)


WRITERS: dict[str, Callable[[History, bool], Written]] = {
    "text": lambda result, everything: terminal(blocks(result, everything)),
    "json": lambda result, _: document_of(result),
    "html": lambda result, _: page(document(result, made_text())).encode(),
}
