"""`ioplan show`, `export` and `report`: what was run, and what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from msgspec.structs import replace
from rich.console import Console

from ioplan.cli.display.output import print_line
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.bundles import results_of
from ioplan.cli.sessions.selection import fits, only_tests
from ioplan.cli.sessions.stores import opened
from ioplan.core.formats import writer_of
from ioplan.core.model import slimmed
from ioplan.core.text import counted, did_you_mean, line
from ioplan.core.units import time_text
from ioplan.language.metric import MetricError
from ioplan.language.plan import CheckedPlan
from ioplan.language.quantity import parse_quantity
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.exports.export import export
from ioplan.results.exports.formats import WRITERS
from ioplan.results.report.build import sessions_screen
from ioplan.results.report.facts import how_measured
from ioplan.results.report.terminal.bars import print_screen
from ioplan.results.report.terminal.figures import During, show_figures
from ioplan.results.report.terminal.sessions import session_lines
from ioplan.results.report.terminal.show import show_records
from ioplan.results.share.bundle import is_bundle
from ioplan.results.share.recorded_plan import recorded_plan
from ioplan.results.store.sessions import SessionFilter
from ioplan.results.store.store import Store, session_now

# `ioplan show JOB`: the lanes of a job, and its targets beside one another.


def print_lanes(
    console: Console, store: Store, ids: Sequence[str], tables: bool = False
) -> None:
    """A line for each, then their headlines beside one another.

    Of many drives the first have a line each; with `tables`, all of them.
    """
    sessions = [store.session(id) for id in ids]
    job = sessions[0].job or ""  # the sessions of a bundle may be of none
    every = store.overview(SessionFilter(job=job))
    lanes = sorted((one for one in every if one.id in ids), key=lambda one: one.id)
    for text in session_lines(lanes, {}, console.width):
        print_line(text)
    with_runs = [one for one in sessions if store.count(one.id)]
    if with_runs:
        print_screen(console, sessions_screen(store, with_runs), tables)
    every_one = job or " ".join(ids)
    print_line(f"one of them: ioplan show {ids[0]}\nall: ioplan report {every_one}")


def show_session(
    *,
    sessions: list[str],
    test: str | None,
    during: str | None,
    metrics: list[str],
    tables: bool,
    plan: bool,
    format: str | None,
    output: Path | None,
    force: bool,
    store: str | None,
) -> None:
    """Print a session, or its plan, or export it; several sessions side by side."""
    session = ",".join(sessions or ["last"])
    if (test or metrics or tables or during is not None) and (plan or format):
        asked = "test" if test else "metric" if metrics else "during"
        asked = "tables" if tables else asked
        raise UsageError(
            f"--{asked} is of what is shown, and "
            f"{'--plan' if plan else '--format'} writes the whole session: leave one "
            f"of them out"
        )
    stretch = None if during is None else during_of(during)
    if format:
        writer_of(format, WRITERS, output)
    single = bool(plan or format or test or during or metrics) or is_bundle(session)
    with results_of(store, [session], single=single) as (found, (key,)):
        if "," in key:
            print_lanes(Terminal(highlight=False), found, key.split(","), tables)
        elif plan:
            with opened(output, force) as out:
                out.write(plan_with_files(found.session(key)).encode())
        elif format:
            with opened(output, force) as out:
                export(found, key, format, out, plan=_needed(found, key))
        else:
            console = Terminal(highlight=False)
            _print_session(console, found, key, test, (stretch, metrics), tables)
            if not (tables or metrics or during):
                there = f" --store {quote(store)}" if store else ""
                print_line(f"all figures: ioplan show {key} --tables{there}")


def during_of(text: str) -> During:
    """`10s..20s`. Raises UsageError."""
    try:
        begin, end = (parse_quantity(part.strip()) for part in text.split(".."))
        if begin.kind == end.kind == "time" and begin.value < end.value:
            return During(float(begin.value), float(end.value))
    except ValueError:
        pass  # too many parts, too few, or none a quantity
    raise UsageError(
        f"--during {text!r} is no part of a run: write when it begins and ends, for "
        f"example --during 10s..20s"
    )


def plan_with_files(session: Session) -> str:
    """The plan as it was run; behind it, as comments, the files that it uses.

    So the whole is still a plan, and says all that was run.
    """
    text = session.plan_text
    for name, used in session.resolved.files.items():
        rows = [f"{name}:", "", *str(used).splitlines()]
        shown = "\n".join(f"#   {row}".rstrip() for row in rows)
        text += f"\n# {'-' * 70}\n{shown}\n"
    return text


def export_records(
    *,
    session: str,
    format: str,
    output: Path | None,
    force: bool,
    series: bool,
    streams: bool,
    phases: bool,
    detail: bool,
    store: str | None,
) -> None:
    """Write a session's records in a format. Raises FormatError."""
    writer_of(format, WRITERS, output)
    with (
        results_of(store, [session], single=True) as (found, (key,)),
        opened(output, force) as out,
    ):
        plan = _needed(found, key)
        parts = {"detail": detail, "series": series, "streams": streams}
        parts["phases"] = phases
        export(found, key, format, out, plan=plan, **parts)


def _needed(store: Store, key: str) -> CheckedPlan | None:
    """The plan of a session that has not done all of it, or may ask for recoveries."""
    session = store.session(key)
    texts = (session.plan_text, *session.resolved.files.values())
    asks = any("recovery" in str(text) for text in texts)
    return plan_of(session) if asks or session.status != "ok" else None


def _print_session(
    console: Console,
    store: Store,
    key: str,
    test: str | None,
    asked: tuple[During | None, Sequence[str]],
    tables: bool,
) -> None:
    """What ran on what, then each test, or what is asked of it."""
    during, metrics = asked
    session = session_now(store, key)
    plan = plan_of(session)
    if test:
        plan, records = _only(test, plan, store, session)
    else:
        records = [*map(slimmed, store.records(session.id))]
    done = [record for record in records if not record.found]
    spent_s = sum(record.run_s for record in done)
    console.print(line(session.plan, "bold"))
    backend = backend_text(session.backend, done)
    spent = f"{counted(len(done), 'run')}, {time_text(spent_s)} {how_measured(done)}"
    console.print(
        f"drive {session.target}, backend {backend}, {session.status}; {spent}; "
        f"session {session.id}",
        markup=False,
    )
    if words := words_text(session):
        console.print(words, markup=False)
    if metrics or during is not None:
        try:
            show_figures(console, store, records, metrics, during)
        except MetricError as error:
            raise UsageError(f"--metric: {error}") from None
    else:
        show_records(console, store, session, records, plan, tables)


def backend_text(name: str, records: Sequence[RunRecord]) -> str:
    """`io_uring (sync mode)`: how its runs were done, if not as its name says."""
    modes = dict.fromkeys(one.backend.mode for one in records)
    others = [mode for mode in modes if mode not in ("", name, "virtual")]
    return f"{name} ({', '.join(others)} mode)" if others else name


def words_text(session: Session) -> str:
    """What people said of it, and who started it; empty of an ordinary session."""
    job = f"job {session.job}" if session.job else ""
    tags = f"tags {', '.join(session.tags)}" if session.tags else ""
    said = [part for part in (job, tags, session.note) if part]
    by = [f"by {session.person}"] if said and session.person else []
    return "; ".join((*by, *said))


def _only(
    glob: str, plan: CheckedPlan | None, store: Store, session: Session
) -> tuple[CheckedPlan | None, list[RunRecord]]:
    """The plan with the tests whose titles fit, and their runs, in order.

    Of a title that is written out, only its runs are read: a session may have many.
    """
    tests = tuple(one for one in plan.tests if fits(one.title, glob)) if plan else ()
    if len(tests) == 1 and tests[0].title == glob:
        records = list(store.records(session.id, glob))
    else:
        every = store.records(session.id)
        records = [one for one in every if fits(one.asked.test, glob)]
    if not records and not tests:
        raise _no_test(store, session, glob)
    return plan and replace(plan, tests=tests), records


def _no_test(store: Store, session: Session, title: str) -> UsageError:
    titles = {record.asked.test for record in store.records(session.id)}
    near = did_you_mean(title, titles)
    return UsageError(f"session {session.id} has no test {title!r}{near}")


def plan_of(session: Session) -> CheckedPlan | None:
    """The plan as it was run, for its charts; None if it is no plan any more."""
    return asked_of(recorded_plan(session), session)


def asked_of(plan: CheckedPlan | None, session: Session) -> CheckedPlan | None:
    try:
        return only_tests(plan, session.request.tests) if plan else None
    except UsageError:
        return None  # a store that was passed on may say anything
