"""`run` on a group: a lane for each target."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ioplan.cli.consents import listed_drives, listed_words
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import checked_plan
from ioplan.cli.run_options import Options
from ioplan.cli.selection import only_tests
from ioplan.lab.lab_file import default_path as default_lab
from ioplan.lab.lab_file import read_lab
from ioplan.runner.person import login_name
from ioplan_lab.cluster.jobs.dispatch import fleet_targets, new_job
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.commands.jobs.executor import (
    executor_of,
    lane_errors,
    print_unready,
    some_ready,
)
from ioplan_lab.commands.jobs.watch import say_how_to_attach, watch
from ioplan_lab.commands.run_on_hosts import check_lanes


def run_fleet(
    console: Console, options: Options, detach: bool, skip_missing: bool
) -> int:
    """A lane for each target; returns the exit code."""
    if options.json or options.baseline:
        raise UsageError("--json and --baseline are for one target, not for a group")
    asked = options.settings, options.scale_time, options.profile
    plan = checked_plan(options.plan, *asked, lab=options.lab)
    plan = only_tests(plan, options.tests)
    lab_file = options.lab or default_lab()
    assert lab_file and options.target  # the group is written there
    lab = read_lab(lab_file)
    check_lanes(plan, lab, fleet_targets(lab, options.target))
    drives = listed_drives(options, lab, plan)
    words = _words(options)

    def told(target: str) -> list[str]:
        listed = listed_words(drives, lab, target)
        return [*words, *(word for id in listed for word in ("--overwrite", id))]

    with lane_errors():
        job = new_job(
            plan, lab_file, options.target, told, options.store, options.job or ""
        )
    jobs = Jobs(options.store)
    with executor_of(job) as executor, lane_errors():
        unready = some_ready(executor, job)
        if skip_missing:
            job.skip({host: str(error) for host, error in unready.items()})
        jobs.keep_new(job)
        _print_begin(console, job, lab.results)
        print_unready(job, unready)
        executor.start(job.unfinished)
        if detach:
            return say_how_to_attach(console, job)
        return watch(console, executor, job, jobs, stops=True)


def _print_begin(console: Console, job: Job, results: str | None) -> None:
    hosts = {call.host for call in job.calls if call.host}
    on = f" on {len(hosts)} hosts" if hosts else ""
    console.print(f"job {job.id}: {job.plan}, {len(job.calls)} lanes{on}")
    if hosts and not results:
        text = "note: the lab names no results database, so each host keeps its own"
        console.print(text, soft_wrap=True)


def _words(options: Options) -> list[str]:
    """What each lane's `ioplan run` is told, beside its target and its lab."""
    values: list[tuple[str, str | None]] = [
        ("--create", options.create),
        ("--backend", options.backend),
        ("--profile", options.profile),
        ("--scale-time", str(options.scale_time)),
        *(("--set", one) for one in options.settings),
        *(("--test", one) for one in options.tests),
        *(("--option", one) for one in options.options),
        *(("--allow", one) for one in options.allow),
        *(("--tag", one) for one in options.tags),
        ("--note", options.note),
        ("--person", options.person or login_name()),
        *(("--overwrite", _from_root(one)) for one in options.overwrite),
        *(("--overwrite-data", _from_root(one)) for one in options.overwrite_data),
    ]
    flags = [("--fresh", options.fresh)]
    flags += [("--allow-approximate", options.allow_approximate)]
    flags += [("--only-exact", options.only_exact)]
    words = [word for name, value in values if value for word in (name, value)]
    return words + [name for name, wanted in flags if wanted]


def _from_root(word: str) -> str:
    """A path holds from a lane's folder, too; a serial number stays one."""
    return str(Path(word).absolute()) if "/" in word and Path(word).exists() else word
