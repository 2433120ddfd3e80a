"""A stored session, with its records, figures, charts and report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.cli.commands.report import (
    report_document,
    report_page,
    written_report,
)
from ioplan.cli.commands.sessions import plan_of
from ioplan.cli.errors import UsageError
from ioplan.planner.places import places_of
from ioplan.records import session as model
from ioplan.records.current import current_records
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.results.exports.export import Records
from ioplan.results.exports.formats import arrow_table
from ioplan.results.exports.rows import Kind
from ioplan.results.report.build import Document
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.html.page import chart_named, chart_page, charts_of
from ioplan.results.report.judgements import Judgement, judgements, verdict_lines
from ioplan.results.store.store import Store, session_now

FRAMES = ("pandas", "polars")
REPORT_PX, CHART_PX = 900, 640


class Session:
    """A session of a store. What is read of it is kept; `exit_code` is that of
    `ioplan run`, if it was run here."""

    def __init__(
        self, store: str | Path, id: str, exit_code: int | None = None
    ) -> None:
        self.store, self.id, self.exit_code = store, id, exit_code

    def __repr__(self) -> str:
        one = self.model
        return f"<Session {self.id}: {one.plan} on {one.target}, {one.backend}>"

    @contextmanager
    def _open(self) -> Iterator[Store]:
        with Store.to_read(self.store) as opened:
            yield opened

    @cached_property
    def model(self) -> model.Session:
        """The session as it is stored: plan, target, backend, host, times."""
        with self._open() as store:
            return session_now(store, self.id)

    @cached_property
    def records(self) -> tuple[RunRecord, ...]:
        """The runs and preparations that count, in order."""
        with self._open() as store:
            return tuple(current_records(list(store.records(self.id))))

    def detail(self, record: RunRecord) -> RunDetail:
        """Histograms and intervals of a run."""
        with self._open() as store:
            return store.detail(self.id, record.seq)

    @property
    def status(self) -> str:
        """`ok`, `failed`, `interrupted` or `running`."""
        return self.model.status

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What became of each expectation that was judged."""
        return tuple(one for record in self.records for one in record.verdicts)

    @property
    def held(self) -> bool:
        """Whether all has run and all expectations were shown to hold."""
        with self._open() as store:
            verdict = store.verdict(self.id)
        return (
            self.status == "ok" and verdict in ("held", "none") and not self.exit_code
        )

    @property
    def why(self) -> str:
        """What did not hold, a line each; empty if all did."""
        failed = [run for run in self.records if run.status != "ok"]
        lines = [f"{run.asked.test}: {run.message}" for run in failed]
        judged = verdict_lines(self._judgements)
        lines += [line.text for line in judged if line.outcome != "held"]
        if not self.held and not lines:
            lines = [f"the session is {self.status}, exit code {self.exit_code}"]
        return "\n".join(lines)

    @cached_property
    def _judgements(self) -> list[Judgement]:
        plan = None if self.status == "ok" else plan_of(self.model)
        return judgements(self.records, places_of(plan) if plan else {})

    def table(self, *, series: bool = False) -> Any:
        """A pyarrow.Table of flat rows, as `ioplan export` writes them: a row for each
        run, direction and stream, or one for each interval. Units are in the names of
        the columns. Raises ExportError without pyarrow."""
        with self._open() as store:
            plan = None if self.status == "ok" else plan_of(self.model)
            kind: Kind = "series" if series else "runs"
            return arrow_table(Records(store, self.model, kind, plan))

    def frame(self, library: str = "", *, series: bool = False) -> Any:
        """The records as a frame of pandas or polars, whichever is installed."""
        named = library or next(filter(find_spec, FRAMES), "")
        if named not in FRAMES or not find_spec(named):
            near = f"{named!r} is not installed" if named else "neither is installed"
            raise UsageError(
                f"a frame is one of pandas or polars, and {near}; "
                f"session.table() is an Arrow table"
            )
        table = self.table(series=series)
        if named == "pandas":
            return table.to_pandas()
        return import_module("polars").from_arrow(table)

    def report(
        self, path: str | Path | None = None, *, force: bool = False
    ) -> Path | str:
        """The HTML report: its text, or the file that it is written to."""
        with self._open() as store:
            data = report_page(store, [self.model])
        if path is None:
            return data.decode()
        written_report(data, Path(path), force)
        return Path(path)

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """The charts of the report by their names, `test: title`."""
        found = self._document
        return {name: Chart(found, *place) for name, place in charts_of(found).items()}

    def chart(self, name: str) -> Chart:
        """A chart by its name, or by a part of it that no other has."""
        return Chart(self._document, *chart_named(self._document, name))

    @cached_property
    def _document(self) -> Document:
        with self._open() as store:
            return report_document(store, [self.model])

    def _repr_html_(self) -> str:
        return _framed(str(self.report()), REPORT_PX)


class Chart(Struct, frozen=True):
    """One chart of a report; `spec` has its rows in the records' units."""

    document: Document
    section: str
    spec: ChartSpec

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What is drawn, a row for each point."""
        return list(self.spec.frame.records())

    def html(self) -> str:
        """A page with this chart alone, drawn as in the report."""
        return chart_page(self.document, (self.section, self.spec))

    def _repr_html_(self) -> str:
        return _framed(self.html(), CHART_PX)


def _framed(text: str, height_px: int) -> str:
    """A whole page within another, which neither sees nor styles it."""
    return (
        f'<iframe srcdoc="{escape(text, quote=True)}" loading="lazy" '
        f'style="width:100%;height:{height_px}px;border:0"></iframe>'
    )
