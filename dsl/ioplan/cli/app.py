"""The command line. Thin: each command calls one function of the package."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from ioplan import __version__
from ioplan.cli.choose import chosen
from ioplan.cli.commands.check import check_plans, format_plans
from ioplan.cli.commands.compare import Options as CompareOptions
from ioplan.cli.commands.compare import compare_sessions
from ioplan.cli.commands.crosscheck import Options as CrosscheckOptions
from ioplan.cli.commands.crosscheck import crosscheck as run_crosscheck
from ioplan.cli.commands.inventory import (
    print_backends,
    print_suite,
    print_suites,
    print_targets,
    target_rows,
    targets_json,
)
from ioplan.cli.commands.lab import lab_app
from ioplan.cli.commands.plan import check_said, print_native, standing
from ioplan.cli.commands.push import push_sessions
from ioplan.cli.commands.rehearse import print_rehearsal, simulated
from ioplan.cli.commands.resume import Resumed
from ioplan.cli.commands.resume import resume as resume_session
from ioplan.cli.commands.run import run as run_plan
from ioplan.cli.commands.run_fleet import (
    attach,
    cancel,
    resume_job,
    run_fleet,
    status,
    wants_fleet,
)
from ioplan.cli.commands.sessions import list_sessions as print_sessions
from ioplan.cli.commands.sessions import show_session, write_report
from ioplan.cli.display.plan_table import plan_json, plan_table
from ioplan.cli.display.terminal import Terminal, data_out
from ioplan.cli.errors import UsageError, reported
from ioplan.cli.inputs import (
    assumed_facts,
    checked,
    opened,
    plan_path,
    results_at,
)
from ioplan.cli.run_options import Options
from ioplan.cluster.jobs.job import Jobs
from ioplan.export.export import export as export_session
from ioplan.export.sessions import export_sessions
from ioplan.lab.lab_file import read_lab
from ioplan.language.plan import FULL
from ioplan.records.record import record_schema
from ioplan.store.store import default_path

app = typer.Typer(
    name="ioplan",
    help="Storage test plans as text: precondition, sweep, measure, judge.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(lab_app)

PlanPath = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's file.")]
PlanPaths = Annotated[list[Path], typer.Argument(metavar="PLAN…", help="Plans.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Give a param another value."),
]
Profile = Annotated[
    str, typer.Option(metavar="NAME", help="The plan's values of that name.")
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
SimPath = Annotated[
    Path | None,
    typer.Option("--sim", metavar="FILE", help="The simulated drive of a file."),
]
BackendOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the backend."),
]
Overwrite = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Allow to destroy what is on this very target."),
]
Approximate = Annotated[
    bool,
    typer.Option("--allow-approximate", help="Let a backend do nearly what is asked."),
]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="The results store; else IOPLAN_STORE, else XDG."),
]
StorePlace = Annotated[
    str | None,
    typer.Option("--store", help="A store's file, or postgresql://HOST/DATABASE."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No output.")]
JsonOut = Annotated[bool, typer.Option("--json", help="JSON lines.")]
Lane = Annotated[Path | None, typer.Option("--lane", hidden=True)]
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
    profile: Profile = FULL,
    format: Annotated[str, typer.Option(help="text, or json for editors.")] = "text",
) -> None:
    """Tell whether plans are right, and if not, all that is wrong with them."""
    with reported():
        raise typer.Exit(check_plans(plans, settings or [], format, profile))


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
    profile: Profile = FULL,
    scale_time: ScaleTime = 1.0,
    backend: BackendName = None,
    lab: LabPath = None,
    option: BackendOptions = None,
    sim: SimPath = None,
    store: StorePath = None,
    native: Annotated[
        bool, typer.Option("--show-native", help="What the backend would be told.")
    ] = False,
    rehearsal: Annotated[
        bool, typer.Option("--rehearse", help="Run it all on the simulated drive.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every step.")] = False,
) -> None:
    """Show what would happen: steps in order, time, bytes, drive writes."""
    with reported():
        made = checked(plan, settings or [], scale_time, profile)
        facts = assumed_facts(target, capacity, lab)
        console = Terminal(highlight=False)
        found = standing(target, lab, store or default_path())
        backend, options = simulated(sim, backend, option or [])
        if native or backend:
            choice = chosen(backend, lab, options)
            check_said(made, choice, facts)
        if rehearsal:
            known = facts.capacity_bytes if target or capacity or not sim else None
            print_rehearsal(console, made, known, sim, as_json)
        elif native:
            print_native(console, made, choice, facts)
        elif as_json:
            plan_json(made, facts.capacity_bytes, found)
        else:
            plan_table(console, made, facts.capacity_bytes, everything, found)


@app.command()
def run(
    plan: PlanPath,
    target: Annotated[
        str | None,
        typer.Option(help="A file, a device, or a target or group of the lab."),
    ] = None,
    create: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Make the scratch file if it is missing."),
    ] = None,
    backend: BackendName = None,
    lab: LabPath = None,
    option: BackendOptions = None,
    sim: SimPath = None,
    settings: Settings = None,
    profile: Profile = FULL,
    scale_time: ScaleTime = 1.0,
    store: StorePath = None,
    overwrite: Overwrite = None,
    allow_approximate: Approximate = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="SESSION", help="For 'of baseline'.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Prepare again what is prepared already.")
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Of a group: begin, and leave it alone.")
    ] = False,
    quiet: Quiet = False,
    as_json: JsonOut = False,
    lane: Lane = None,
) -> None:
    """Run a plan. Exit code: 0 all held, 1 not, 2 usage, 3 failed, 130 stopped."""
    with reported(as_json):
        if quiet and as_json:
            raise UsageError("say --quiet or --json, not both")
        backend, given = simulated(sim, backend, option or [])
        options = Options(
            plan=plan_path(plan),
            profile=profile,
            store=store or default_path(),
            target=target,
            create=create,
            backend=backend,
            lab=lab,
            options=given,
            allow_approximate=allow_approximate,
            settings=settings or [],
            scale_time=scale_time,
            overwrite=overwrite or [],
            baseline=baseline,
            fresh=fresh,
            quiet=quiet,
            json=as_json,
            lane=lane,
        )
        if wants_fleet(options):
            raise typer.Exit(run_fleet(Terminal(quiet=quiet), options, detach))
        if detach:
            raise UsageError("--detach is for groups of the lab, and for other hosts")
        raise typer.Exit(run_plan(options))


@app.command()
def resume(
    session: SessionKey = "last",
    plan: Annotated[
        Path | None, typer.Option(help="The plan, where it was moved or edited.")
    ] = None,
    overwrite: Overwrite = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Believe a store that is not yours.")
    ] = False,
    store: StorePath = None,
    quiet: Quiet = False,
    as_json: JsonOut = False,
    lane: Lane = None,
) -> None:
    """Go on with a session that was killed, stopped or failed."""
    with reported(as_json):
        resumed = Resumed(
            session=session,
            store=store or default_path(),
            plan=plan,
            overwrite=tuple(overwrite or ()),
            trust=trust,
            quiet=quiet,
            json=as_json,
            lane=lane,
        )
        if Jobs(resumed.store).has(session):
            console = Terminal(quiet=quiet)
            raise typer.Exit(resume_job(console, resumed.store, session))
        raise typer.Exit(resume_session(resumed))


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
    profile: Profile = FULL,
    scale_time: ScaleTime = 1.0,
    lab: LabPath = None,
    overwrite: Overwrite = None,
    allow_approximate: Approximate = False,
    store: StorePath = None,
) -> None:
    """Run each cell on two backends in turn; exit with 1 unless all agree."""
    with reported():
        options = CrosscheckOptions(
            plan=plan,
            profile=profile,
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
        raise typer.Exit(run_crosscheck(options, Terminal()))


@app.command("ls")
def list_sessions(
    format: FormatOrNone = None, output: Output = None, store: StorePlace = None
) -> None:
    """List sessions, the newest first."""
    with reported(), results_at(store) as found:
        if format is None:
            print_sessions(found, Path(found.where))
            return
        with opened(output) as out:
            export_sessions(found, format, out)


def _data(output: Path | None) -> AbstractContextManager[Path | BinaryIO]:
    """A file is opened only once the format is known to be there."""
    return nullcontext(output) if output else data_out()


@app.command()
def show(
    session: SessionKey = "last",
    test: Annotated[str | None, typer.Option(help="Only this test.")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the plan as it was run.")
    ] = False,
    format: FormatOrNone = None,
    output: Output = None,
    store: StorePlace = None,
) -> None:
    """Show a session's results as tables and charts, or export them."""
    with reported(), results_at(store) as found:
        if plan:
            with data_out() as out:
                out.write(found.session(session).plan_text.encode())
        elif format is None:
            show_session(Terminal(highlight=False), found, session, test)
        else:
            with _data(output) as out:
                export_session(found, session, format, out)


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
    store: StorePlace = None,
) -> None:
    """Export a session's records."""
    with (
        reported(),
        results_at(store) as found,
        _data(output) as out,
    ):
        export_session(found, session, format, out, detail=detail, series=series)


@app.command()
def report(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION…", help="Ids, their beginnings, or 'last'."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The HTML file.")
    ] = Path("report.html"),
    store: StorePlace = None,
) -> None:
    """Write an HTML report; several sessions overlay in its charts."""
    with reported(), results_at(store) as found:
        console = Terminal(highlight=False)
        write_report(console, found, sessions or ["last"], output)


@app.command()
def compare(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="A session, or several: ID,ID.")
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same; what is judged.")
    ] = "last",
    threshold: Annotated[
        str, typer.Option(metavar="SHARE", help="What is smaller counts as equal.")
    ] = "2%",
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Else iops, mean and p99; may be repeated."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Of a run to the next, where unknown."),
    ] = None,
    format: Annotated[
        str, typer.Option(help="text, json, markdown, junit or github.")
    ] = "text",
    output: Output = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is equal (text).")
    ] = False,
    store: StorePlace = None,
) -> None:
    """Tell what is better or worse; exit with 1 if anything is worse."""
    with reported(), results_at(store) as found:
        options = CompareOptions(
            base=base,
            new=new,
            metrics=tuple(metric or ()),
            threshold=threshold,
            noise=noise,
            format=format,
            output=output,
            everything=everything,
        )
        console = Terminal(highlight=False)
        raise typer.Exit(compare_sessions(found, options, console))


JobKey = Annotated[
    str, typer.Argument(metavar="JOB", help="An id, its beginning, or 'last'.")
]


@app.command("status")
def job_status(job: JobKey = "last", store: StorePath = None) -> None:
    """Show how the lanes of a job go."""
    with reported():
        console = Terminal(highlight=False)
        raise typer.Exit(status(console, store or default_path(), job))


@app.command("attach")
def job_attach(job: JobKey = "last", store: StorePath = None) -> None:
    """Watch a job until it ends; Ctrl-C leaves it alone."""
    with reported():
        console = Terminal(highlight=False)
        raise typer.Exit(attach(console, store or default_path(), job))


@app.command("cancel")
def job_cancel(job: JobKey, store: StorePath = None) -> None:
    """End the I/O of a job's lanes; what is finished is kept."""
    with reported():
        console = Terminal(highlight=False)
        raise typer.Exit(cancel(console, store or default_path(), job))


@app.command()
def push(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION…", help="Some of them; else all."),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="postgresql://HOST/DATABASE; else the lab's.")
    ] = None,
    lab: LabPath = None,
    store: StorePath = None,
) -> None:
    """Send this host's results to the store that the lab shares; what is missing."""
    with reported():
        place = store or default_path()
        push_sessions(Terminal(highlight=False), place, to, lab, sessions or [])


@app.command()
def backends(lab: LabPath = None) -> None:
    """List what can do the I/O here, why something cannot, and what each can say."""
    with reported():
        print_backends(Terminal(), read_lab(lab))


@app.command()
def targets(
    lab: LabPath = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the block devices here, what is on each, and whether it may be written."""
    with reported():
        found = target_rows(read_lab(lab))
        if as_json:
            targets_json(found)
        else:
            print_targets(Terminal(), found)


@app.command()
def suites(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="Describe this one.")
    ] = None,
    profile: Profile = FULL,
    capacity: Annotated[str, typer.Option(help="Of the target.")] = "1TB",
) -> None:
    """List the suites that come with ioplan: what each does and costs."""
    with reported():
        facts = assumed_facts(None, capacity)
        console = Terminal(highlight=False)
        if suite:
            print_suite(console, suite, facts.capacity_bytes)
        else:
            print_suites(console, profile, facts.capacity_bytes)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a run's record."""
    print(json.dumps(record_schema(), indent=2))
