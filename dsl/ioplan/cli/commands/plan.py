"""`ioplan plan`: the steps, or what a backend's own program would be told."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ioplan.backends import TargetFacts, TargetRequest
from ioplan.cli.choose import NO_TARGET, Choice, assumed_facts, chosen
from ioplan.cli.commands.rehearse import print_rehearsal, simulated
from ioplan.cli.display.plan_table import plan_json, plan_table
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import checked
from ioplan.core.error_kinds import CommandFault
from ioplan.core.text import printable
from ioplan.guard.errors import TargetError
from ioplan.guard.resolve import resolve_target
from ioplan.guard.target import open_target
from ioplan.job import Job
from ioplan.lab.lab_file import read_lab
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.plan import CheckedPlan
from ioplan.planner.jobs import all_jobs
from ioplan.planner.summary import summary_of
from ioplan.planner.target_state import TargetState
from ioplan.planner.unfold import unfold
from ioplan.runner.fit import Shortfall, described, gaps_of, shortfalls
from ioplan.runner.state_ledger import UNKNOWN, proven
from ioplan.store.store import Store, default_path


def show_plan(
    *,
    plan: Path,
    target: str | None,
    capacity: str | None,
    settings: list[str],
    profile: str,
    scale_time: float,
    backend: str | None,
    lab: Path | None,
    options: list[str],
    sim: Path | None,
    store: Path | None,
    native: bool,
    rehearse: bool,
    json: bool,
    everything: bool,
) -> None:
    """Print a plan's steps, or what would be done in another view."""
    planned = checked(plan, settings, scale_time, profile)
    facts = assumed_facts(target, capacity, lab)
    console = Terminal(highlight=False)
    state = proven_state(target, lab, store or default_path())
    backend, options = simulated(sim, backend, options)
    choice = chosen(backend, lab, options) if native or backend else None
    if choice:
        check_expressible(planned, choice, facts)
    if rehearse:
        known = facts.capacity_bytes if target or capacity or not sim else None
        print_rehearsal(console, planned, known, sim, json)
    elif native and choice:
        print_native(console, planned, choice, facts)
    elif json:
        plan_json(planned, facts.capacity_bytes, state)
    else:
        plan_table(console, planned, facts.capacity_bytes, everything, state)


def print_native(
    console: Console, plan: CheckedPlan, choice: Choice, facts: TargetFacts
) -> None:
    """Each different text once, under the step that it belongs to first."""
    seen: set[str] = set()
    read_only = not summary_of(plan).writes
    for step, job in all_jobs(unfold(plan), facts, read_only):
        text = choice.backend.native(job, choice.options)
        if text in seen:
            continue
        seen.add(text)
        for line in (f"{step.test.title}: {step}", *_approximate(job, choice)):
            heading = Text(f"# {printable(line)}", style="bold")
            console.print(heading, soft_wrap=True)
        console.print(Text(text.rstrip()), soft_wrap=True)
        console.print()


def check_expressible(plan: CheckedPlan, choice: Choice, facts: TargetFacts) -> None:
    """Refuse what `run` would refuse anyhow. Raises PlanError, UsageError.

    Which host does what is the lab's to say, not the backend's. A target that is not
    named is taken for a device: a file can do less.
    """
    if facts.path == NO_TARGET:
        facts = facts.model_copy(update={"path": f"/dev/{NO_TARGET}"})
    found = shortfalls(summary_of(plan), choice.backend, facts, choice.options)
    lacking = [one for one in found if not one.gap.instead and one.gap.field != "hosts"]
    _refuse(lacking, choice.backend.name)


def _refuse(lacking: list[Shortfall], backend: str) -> None:
    placed = [one.diagnostic(backend, one.span) for one in lacking if one.span]
    if placed:
        raise PlanError(placed)
    if lacking:
        shown = "\n  ".join(one.text for one in lacking)
        text = f"{backend} cannot do the plan:\n  {shown}"
        raise UsageError(text, CommandFault.UNSUPPORTED)


def _approximate(job: Job, choice: Choice) -> list[str]:
    """What the text says in another way than the plan."""
    gaps = gaps_of(choice.backend, job, choice.options)
    return [f"done instead: {described(gap)}" for gap in gaps if gap.instead]


def proven_state(
    target: str | None, lab: Path | None, store: Path
) -> tuple[TargetState, str]:
    """The state, and a line on why it is kept or not; empty where nothing is known."""
    if target is None or not store.exists():
        return UNKNOWN, ""
    try:
        opened = open_target(
            TargetRequest(path=resolve_target(target, read_lab(lab)).path)
        )
    except TargetError as error:
        return UNKNOWN, f"the state of the target is not known: {error}"
    with closing(opened), Store.open(store) as known:
        return proven(known, opened.facts)
