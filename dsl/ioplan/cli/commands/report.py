"""`ioplan report`: sessions as a page, as sheets, or one of their charts."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ioplan.cli.commands.sessions import asked_of
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.sessions.bundles import results_of
from ioplan.cli.sessions.stores import STDOUT, opened
from ioplan.cli.sessions.written import made_text, print_or_write
from ioplan.core.units import bytes_text
from ioplan.language.plan import CheckedPlan
from ioplan.records.current import current_records
from ioplan.records.session import Session
from ioplan.results.compare.blocks import compared
from ioplan.results.report.badge import badge as badge_of
from ioplan.results.report.blocks import Facts
from ioplan.results.report.build import Document, document
from ioplan.results.report.conformance.conformance import conformance as conformance_of
from ioplan.results.report.facts import Reported
from ioplan.results.report.html.browser import BrowserError, picture
from ioplan.results.report.html.page import (
    NO_COVER,
    chart_named,
    chart_page,
    cover,
    page,
)
from ioplan.results.report.writers import terminal
from ioplan.results.share.recorded_plan import recorded_plans
from ioplan.results.store.store import Store, session_now

USUAL_REPORT = Path("report.html")
PICTURES = ("svg", "png")


def write_report(
    sessions: list[str],
    output: Path,
    force: bool,
    conformance: bool,
    chart: str | None,
    badge: bool,
    sponsor: str | None,
    vendor: str | None,
    store: str | None,
) -> int:
    """Write one HTML file, chart or badge on all sessions.

    Raises UsageError, StoreError, NoChartError.
    """
    if conformance:
        return _print_conformance(sessions or ["last"], store)
    kind = _kind(chart, badge, output)
    report = _document(sessions, store)
    on = cover(sponsor or "", vendor or "")
    if chart:
        data = _drawn(chart_page(report, chart_named(report, chart)), kind)
    elif badge:
        data = badge_of(report).encode()
    else:
        data = page(report, on).encode()
    if output == USUAL_REPORT:
        output = output.with_suffix(f".{kind}")
    written_report(data, output, force)
    if output != STDOUT:
        size = bytes_text(len(data))
        Terminal(highlight=False).print(f"{output} ({size})", soft_wrap=True)
    return HELD


def _document(sessions: list[str], store: str | None) -> Document:
    """The report of some sessions. Raises UsageError, StoreError."""
    with results_of(store, sessions or ["last"]) as (results, keys):
        return report_document(results, _sessions(results, keys))


def _kind(chart: str | None, badge: bool, output: Path) -> str:
    """The ending of what is written. Raises UsageError for a name that has another."""
    if chart and badge:
        raise UsageError("--chart and --badge are different files: choose one")
    kind = output.suffix.lower().removeprefix(".")
    if not chart and not badge:
        if kind not in ("", "html", "htm") and output != STDOUT:
            more = "; a browser prints it as a PDF" if kind == "pdf" else ""
            raise UsageError(f"a report is HTML: -o {output.stem}.html{more}")
        return "html"
    kinds = PICTURES if chart else ("svg",)
    if output not in (USUAL_REPORT, STDOUT) and kind not in kinds:
        what = "a chart is an SVG or a PNG" if chart else "a badge is an SVG"
        raise UsageError(f"{what}: -o {output.stem}.svg")
    return kind if kind in kinds else "svg"


def written_report(data: bytes, output: Path, force: bool) -> None:
    """Write a page or a picture. Raises UsageError for a file that is there already."""
    with opened(output, force) as out:
        out.write(data)


def _drawn(page: str, kind: str) -> bytes:
    """By a browser. Raises UsageError where there is none."""
    try:
        return picture(page, kind)
    except BrowserError as error:
        raise UsageError(str(error)) from None


def _print_conformance(words: list[str], store: str | None) -> int:
    """What SNIA's specification asks; 1 if anything deviates."""
    with results_of(store, words) as (results, keys):
        parts = [
            Reported(s, s.id, current_records(list(results.records(s.id))))
            for s in _sessions(results, keys)
        ]
        tests = list(conformance_of(results, parts))
    if not tests:
        raise UsageError(
            "no test claims conformance with SNIA's specification; a plan or a test "
            'does by its title, for example plan "PTS latency"'
        )
    blocks = terminal(block for test in tests for block in test.blocks)
    print_or_write(blocks, None, force=False)
    return EXPECTATION_FAILED if any(test.deviates for test in tests) else HELD


def report_page(store: Store, sessions: list[Session], on: Facts = NO_COVER) -> bytes:
    """The HTML page on some sessions of a store."""
    return page(report_document(store, sessions), on).encode()


def report_document(store: Store, sessions: list[Session]) -> Document:
    """What the report of some sessions of a store says."""
    report = document(store, sessions, _plans(sessions), made_text())
    if len(sessions) < 2:
        return report
    return replace(report, compared=compared(store, sessions))


def _sessions(store: Store, keys: list[str]) -> list[Session]:
    """Each session once. Raises UsageError for one without a run."""
    named = (word for key in keys for word in key.split(","))
    sessions = {s.id: s for s in (session_now(store, word) for word in named)}
    for session in sessions.values():
        if not store.count(session.id):
            raise UsageError(
                f"session {session.id} has no run to report: it is {session.status}"
            )
    return list(sessions.values())


def _plans(sessions: list[Session]) -> dict[str, CheckedPlan | None]:
    """The plan of each session, with the tests that were asked for."""
    plans = recorded_plans(sessions)
    return {s.id: asked_of(plans[s.id], s) for s in sessions}
