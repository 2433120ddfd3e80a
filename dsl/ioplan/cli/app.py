"""The command line. Thin: each command calls one function of the package."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ioplan import __version__
from ioplan.cli.backends_table import print_backends
from ioplan.cli.checking import check_plans, format_plans
from ioplan.cli.choosing import chosen
from ioplan.cli.crosschecking import Options as CrosscheckOptions
from ioplan.cli.crosschecking import crosscheck as run_crosscheck
from ioplan.cli.failure import UsageError, reported
from ioplan.cli.listing import plan_json, plan_table
from ioplan.cli.native import print_native
from ioplan.cli.reading import assumed_facts, checked, opened
from ioplan.cli.running import Options
from ioplan.cli.running import run as run_plan
from ioplan.cli.showing import show_session
from ioplan.lab.lab import read_lab
from ioplan.report.tables import session_table
from ioplan.results.export import export as export_session
from ioplan.results.schema import record_schema
from ioplan.results.sessions import export_sessions
from ioplan.results.store import Store, default_path

app = typer.Typer(
    name="ioplan",
    help="Storage test plans as text: precondition, sweep, measure, judge.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PlanPath = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's file.")]
PlanPaths = Annotated[list[Path], typer.Argument(metavar="PLAN…", help="Plans.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Give a param another value."),
]
ScaleTime = Annotated[
    float, typer.Option("--scale-time", help="Multiply every duration.")
]
BackendName = Annotated[
    str | None, typer.Option("--backend", help="What does the I/O.")
]
LabPath = Annotated[
    Path | None, typer.Option("--lab", help="The lab file; else IOPLAN_LAB, else XDG.")
]
BackendOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the backend."),
]
Overwrite = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="Allow to destroy what is on this very target."),
]
Approximate = Annotated[
    bool,
    typer.Option("--allow-approximate", help="Let a backend do nearly what is asked."),
]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="The results store; else IOPLAN_STORE, else XDG."),
]
SessionKey = Annotated[
    str, typer.Argument(metavar="SESSION", help="An id, its beginning, or 'last'.")
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ioplan {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show it."),
    ] = False,
) -> None:
    """Storage test plans as text: precondition, sweep, measure, judge."""


@app.command()
def check(
    plans: PlanPaths,
    settings: Settings = None,
    format: Annotated[str, typer.Option(help="text, or json for editors.")] = "text",
) -> None:
    """Tell whether plans are right, and if not, all that is wrong with them."""
    with reported():
        raise typer.Exit(check_plans(plans, settings or [], format))


@app.command()
def fmt(
    plans: PlanPaths,
    check: Annotated[
        bool, typer.Option("--check", help="Only tell; exit with 1 if one is not.")
    ] = False,
) -> None:
    """Write plans in the one layout; comments stay."""
    with reported():
        raise typer.Exit(format_plans(plans, check))


@app.command()
def plan(
    plan: PlanPath,
    target: Annotated[str | None, typer.Option(help="Take its capacity.")] = None,
    capacity: Annotated[str | None, typer.Option(help="For example 1TB.")] = None,
    settings: Settings = None,
    scale_time: ScaleTime = 1.0,
    backend: BackendName = None,
    lab: LabPath = None,
    option: BackendOptions = None,
    native: Annotated[
        bool, typer.Option("--show-native", help="What the backend would be told.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every step.")] = False,
) -> None:
    """Show what would happen: steps in order, time, bytes, drive writes."""
    with reported():
        made = checked(plan, settings or [], scale_time)
        facts = assumed_facts(target, capacity)
        console = Console(highlight=False)
        if native:
            choice = chosen(backend, lab, option or [])
            print_native(console, made, choice, facts)
        elif as_json:
            plan_json(made, facts.capacity_bytes)
        else:
            plan_table(console, made, facts.capacity_bytes, everything)


@app.command()
def run(
    plan: PlanPath,
    target: Annotated[
        str | None, typer.Option(help="A file or a block device.")
    ] = None,
    create: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Make the scratch file if it is missing."),
    ] = None,
    backend: BackendName = None,
    lab: LabPath = None,
    option: BackendOptions = None,
    settings: Settings = None,
    scale_time: ScaleTime = 1.0,
    store: StorePath = None,
    overwrite: Overwrite = None,
    allow_approximate: Approximate = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="SESSION", help="For 'of baseline'.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines.")] = False,
) -> None:
    """Run a plan. Exit code: 0 all held, 1 not, 2 usage, 3 failed, 130 stopped."""
    with reported():
        if quiet and as_json:
            raise UsageError("say --quiet or --json, not both")
        options = Options(
            plan=plan,
            store=store or default_path(),
            target=target,
            create=create,
            backend=backend,
            lab=lab,
            options=option or [],
            allow_approximate=allow_approximate,
            settings=settings or [],
            scale_time=scale_time,
            overwrite=overwrite or [],
            baseline=baseline,
            quiet=quiet,
            json=as_json,
        )
        raise typer.Exit(run_plan(options))


Format = Annotated[str, typer.Option(help="json, jsonl, csv or parquet.")]
FormatOrNone = Annotated[
    str | None, typer.Option("--format", help="json, jsonl, csv or parquet.")
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Else stdout.")
]


@app.command()
def crosscheck(
    plan: PlanPath,
    backends: Annotated[str, typer.Option(help="Two, as io_uring,fio.")],
    target: Annotated[str | None, typer.Option(help="A file or a device.")] = None,
    create: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Make the scratch file if it is missing."),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Runs of each cell on each.")] = 5,
    settings: Settings = None,
    scale_time: ScaleTime = 1.0,
    lab: LabPath = None,
    overwrite: Overwrite = None,
    allow_approximate: Approximate = False,
    store: StorePath = None,
) -> None:
    """Run each cell on two backends in turn; exit with 1 where they differ."""
    with reported():
        options = CrosscheckOptions(
            plan=plan,
            store=store or default_path(),
            backends=backends,
            target=target,
            create=create,
            rounds=rounds,
            lab=lab,
            settings=tuple(settings or ()),
            scale_time=scale_time,
            overwrite=tuple(overwrite or ()),
            allow_approximate=allow_approximate,
        )
        raise typer.Exit(run_crosscheck(options, Console()))


@app.command("ls")
def list_sessions(
    format: FormatOrNone = None, output: Output = None, store: StorePath = None
) -> None:
    """List sessions, the newest first."""
    with reported(), Store.open(store or default_path()) as found:
        if format is None:
            counted = [(one, found.count(one.id)) for one in found.sessions()]
            Console().print(session_table(counted))
            return
        with opened(output) as out:
            export_sessions(found, format, out)


@app.command()
def show(
    session: SessionKey = "last",
    test: Annotated[str | None, typer.Option(help="Only this test.")] = None,
    format: FormatOrNone = None,
    output: Output = None,
    store: StorePath = None,
) -> None:
    """Show a session's results as tables and charts, or export them."""
    with reported(), Store.open(store or default_path()) as found:
        if format is None:
            show_session(Console(highlight=False), found, session, test)
        else:
            export_session(found, session, format, output or sys.stdout.buffer)


@app.command()
def export(
    session: SessionKey = "last",
    format: Format = "json",
    output: Output = None,
    series: Annotated[
        bool, typer.Option("--series", help="A row for each interval.")
    ] = False,
    detail: Annotated[
        bool, typer.Option("--detail", help="With histograms (json only).")
    ] = False,
    store: StorePath = None,
) -> None:
    """Export a session's records."""
    with reported(), Store.open(store or default_path()) as found:
        out = output or sys.stdout.buffer
        export_session(found, session, format, out, detail=detail, series=series)


@app.command()
def backends(lab: LabPath = None) -> None:
    """List what can do the I/O here, why something cannot, and what each can say."""
    with reported():
        print_backends(Console(), read_lab(lab))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a run's record."""
    print(json.dumps(record_schema(), indent=2))
