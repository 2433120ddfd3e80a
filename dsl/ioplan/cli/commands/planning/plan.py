"""`ioplan plan`: the steps, before anything runs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.backends.backend import TargetFacts, TargetRequest, default_backend
from ioplan.cli.commands.native import print_native
from ioplan.cli.commands.planning.plan_fit import plan_fit
from ioplan.cli.commands.planning.plan_target import planned_targets
from ioplan.cli.commands.planning.rehearse import print_rehearsal
from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.display.plan_table import ProvenState, plan_json, plan_table
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import checked_plan, simulated, size
from ioplan.cli.run_options import requested
from ioplan.cli.sessions.selection import only_tests, print_tests
from ioplan.cli.sessions.stores import results_at
from ioplan.cli.targets.assumed import assumed_facts
from ioplan.cli.targets.choose import named_backend
from ioplan.cli.targets.fitting import refuse_misfits
from ioplan.core.text import counted, line
from ioplan.core.units import percent_text
from ioplan.drive_account import DriveAccount
from ioplan.language.plan import CheckedPlan
from ioplan.language.quantity import QuantityError, parse_quantity
from ioplan.planner.bounds import BoundedDrive, Speeds
from ioplan.planner.places import places_of
from ioplan.planner.summary import summary_of
from ioplan.planner.unfolding import UNKNOWN
from ioplan.results.compare.decision import MOST
from ioplan.results.compare.judge import Question
from ioplan.results.history.detect import MOST_NIGHTS, Detection, On, detection
from ioplan.results.store.errors import StoreError
from ioplan.runner.lab.cross_references import expanded
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.prepare.fit import MisfitSearch

if TYPE_CHECKING:
    from ioplan.cli.commands.planning.plan_fit import PlanFit
    from ioplan.cli.targets.choose import Choice


# `ioplan plan --detect`: how many sessions find a change of a given size.

NIGHTLY = "Nights: until `history` confirms it in one cell, in half of the cases."


def print_detection(
    console: Console,
    plan: CheckedPlan,
    change: str,
    store: Path | None,
    on: On,
    json: bool,
) -> None:
    """The sessions a side that `compare` needs. Raises UsageError."""
    percent = _percent(change)
    ids = list(dict.fromkeys(run.run_id for run in places_of(plan).values()))
    if not ids:
        raise UsageError("--detect: the plan has no run to compare")
    found = _detected(ids, percent, store, on)
    if json:
        print_line(found.model_dump_json())
        return
    console.print(line(_heading(found)))
    console.print(_table(found))
    console.print(line(f"Alternate the sides: {found.order}"))
    console.print(line(NIGHTLY))
    for source in dict.fromkeys(one.source for one in found.metrics):
        console.print(line(f"Noise: {source}"))


def _heading(found: Detection) -> str:
    often, least = found.found_percent, found.threshold_percent
    return (
        f"Sessions per side that detect a change of {found.change_percent:g} % in "
        f"{often:g} of 100 comparisons; smaller than {least:g} % counts as equal."
    )


def _detected(ids: list[str], percent: float, store: Path | None, on: On) -> Detection:
    """Without a store, noise is assumed."""
    try:
        with results_at(str(store) if store else None) as results:
            return detection(results, ids, percent, on)
    except StoreError:
        if store:
            raise
        return detection(None, ids, percent, on)


def _table(found: Detection) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("metric")
    headings = (
        "sessions differ by",
        f"in all {counted(found.cells, 'cell')}",
        "in one cell",
        "in the noisiest",
        "nights",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for one in found.metrics:
        counts = one.all_cells, one.one_cell, one.noisiest_cell
        nights = f"over {MOST_NIGHTS}" if one.nights is None else str(one.nights)
        noise = percent_text(one.session_percent)
        table.add_row(one.metric, noise, *map(_count, counts), nights)
    return table


def _count(each: int | None) -> str:
    return f"over {MOST}" if each is None else str(each)


def _percent(text: str) -> float:
    least = Question().threshold_percent
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        raise UsageError(f"--detect: {error}") from None
    if quantity.kind != "share" or not least < quantity.value < 100:
        raise UsageError(
            f"--detect takes a share above {least:g}%, as `compare` counts smaller "
            f"changes as equal, for example 5%, not {text!r}"
        )
    return float(quantity.value)


def show_plan(
    *,
    plan: Path,
    tests: list[str],
    listed: bool,
    targets: list[str],
    capacity: str | None,
    settings: list[str],
    profile: str,
    scale_time: float,
    backend: str | None,
    lab: Path | None,
    options: list[str],
    sim: Path | None,
    store: Path | None,
    allow: list[str],
    allow_approximate: bool,
    only_exact: bool,
    native: bool,
    rehearse: bool,
    within: str | None,
    detect: str | None,
    json: bool,
    everything: bool,
) -> None:
    """Print a plan's steps, or what would be done in another view.

    With a backend also how each test fits it. Raises what `run` would refuse, at the
    end of all that can be shown.
    """
    planned = checked_plan(plan, settings, scale_time, profile, lab=lab)
    planned = only_tests(planned, tests)
    if listed:
        print_tests(planned)
        return
    backend, options = simulated(sim, backend, options)
    target = next(iter(named := expanded(read_lab(lab), targets)), None)
    if detect:
        on = On(backend, target)
        print_detection(Terminal(highlight=False), planned, detect, store, on, json)
        return
    capacity_bytes = size(capacity, "--capacity")
    within_s = requested({"within": within or ""}).within_s
    choice = _choice(backend, lab, options) if native or backend else None
    if not choice and (allow or allow_approximate or only_exact):
        raise UsageError("--allow and --only-exact are about a backend: add --backend")
    state: ProvenState = (UNKNOWN, "")
    facts, speeds = _assumed(choice, capacity_bytes)
    account: DriveAccount | None = None
    if target:
        where = capacity_bytes, choice, lab, store
        facts, state, account = planned_targets(planned, named, *where)
    console = Terminal(highlight=False)
    fit: PlanFit | None = None
    if choice:
        words = allow, allow_approximate, only_exact
        fit = plan_fit(planned, choice, facts, words)
        planned = fit.plan
    search = MisfitSearch(facts)
    if rehearse:
        if fit:
            fit.refuse_impossible()
        known = facts.capacity_bytes
        print_rehearsal(console, planned, known, sim, json, within_s)
    elif native and choice and fit:
        fit.refuse_impossible()
        print_native(console, planned, choice, facts)
    elif json:
        told = fit.as_json() if fit else None
        known_of_drive = state, told, within_s, search.look, account, speeds
        plan_json(planned, facts.capacity_bytes, *known_of_drive)
    else:
        plan_table(
            console,
            planned,
            facts.capacity_bytes,
            everything,
            state,
            within_s,
            search.look,
            account,
            speeds,
        )
    if len(named) > 1 and (note := summary_of(planned).lanes_note(len(named))):
        print_message(note)
    if not (rehearse or native):
        _conclude(fit, search, bool(target or capacity), None if json else console)


def _assumed(
    choice: Choice | None, capacity_bytes: int | None
) -> tuple[TargetFacts, Speeds | None]:
    """Of no target; of a simulated drive as large as its file says, with its blocks and
    its speeds. Raises BackendError."""
    facts = assumed_facts(None, capacity_bytes)
    if choice is None or not choice.backend.virtual_time:
        return facts, None
    request = TargetRequest(
        create_bytes=capacity_bytes, options=choice.options, writes=True
    )
    with closing(choice.backend.open(request)) as opened:
        sizes = {name: getattr(opened.facts, name) for name in SIZES}
        speeds = opened.speeds() if isinstance(opened, BoundedDrive) else None
    return facts.model_copy(update=sizes), speeds


SIZES = ("capacity_bytes", "block_bytes")


def _conclude(
    fit: PlanFit | None, search: MisfitSearch, is_sized: bool, console: Console | None
) -> None:
    """Refuse what is known to be refused by `run`: where no size is stated, what is so
    on a target of any size. Raises PlanError, UsageError."""
    if fit:
        fit.conclude(console)
        return
    found = [one for one in search.misfits if is_sized or one.of_any_target]
    refuse_misfits(found, search.facts)


def _choice(backend: str | None, lab: Path | None, options: list[str]) -> Choice:
    """What a view needs is imported with it: most calls want the table."""
    known = read_lab(lab)
    return named_backend(backend or default_backend(known.backend), known, options)
