"""`ioplan suites`: what there is to run and to use, of ioplan and of packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path

from msgspec.structs import replace
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.inputs import size
from ioplan.cli.sessions.stores import results_at
from ioplan.core.text import did_you_mean
from ioplan.core.units import digits, time_text
from ioplan.language.checker.check import check_file
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.language.search.packages import SuiteError
from ioplan.language.syntax import tree
from ioplan.planner.estimate import Cost, Estimator
from ioplan.planner.suites.published import (
    FILE,
    MOST_BYTES,
    Index,
    faults,
    index_of,
    known_as,
)
from ioplan.planner.suites.source import (
    PYPROJECT,
    cost_table,
    readme_of,
    source_of,
    with_table,
)
from ioplan.planner.suites.suite import (
    Collection,
    Suite,
    collections,
    suite_names,
    suites,
)
from ioplan.planner.unfolding import unfold

# `ioplan suites check`: whether a suite is what was published under its version.

MOST_SHOWN = 20


def check_suite(
    suite: str, index: Path | None, session: str | None, store: str | None
) -> int:
    """1 where runs are not those of the index. Raises UsageError."""
    try:
        folder = Path(suite)
        is_source = (folder / PYPROJECT).is_file()
        found = source_of(folder) if is_source else _installed(suite)
        published = _index(index or found.folder / FILE)
        if found.pinned:  # a commit has no version of its own, and any name
            found = replace(found, name=published.suite, version=published.version)
        if session:
            return _check_session(published, session, store)
        wrong = list(faults(published, found))
        if is_source:
            wrong += _readme_faults(folder, found)
    except SuiteError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(
            f"cannot read {str(error.filename)!r}: {error.strerror}"
        ) from error
    if not wrong:
        runs = len(published.present)
        print_line(f"{found.name} {found.version}: {runs} runs are as published")
    return _told(wrong)


def _installed(name: str) -> Collection:
    known = {one.name: one for one in collections()}
    if name not in known:
        raise UsageError(
            f"there is no suite {name!r}{did_you_mean(name, known)}; name one of "
            f"{', '.join(known)}, or the folder of a package with its {PYPROJECT}"
        )
    return known[name]


def _index(path: Path) -> Index:
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        if len(text) > MOST_BYTES:
            raise SuiteError("it is too large for one")
        return index_of(text.decode())
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def _readme_faults(folder: Path, source: Collection) -> list[str]:
    readme = readme_of(folder)
    if with_table(readme, cost_table(source)) == readme:
        return []
    return [f"the table of README.md is old: ioplan suites publish {folder}"]


def _check_session(published: Index, key: str, store: str | None) -> int:
    """Which versions a session's runs are of."""
    with results_at(store) as results:
        id = results.session(key).id
        runs = {
            record.run_id: record
            for record in results.records(id)
            if record.asked.kind == "run"
        }
    known = known_as(published, runs)
    wrong = [
        f"{runs[run_id].asked.test}: {run_id} is not published"
        for run_id, entry in known.items()
        if entry is None
    ]
    versions = sorted({entry.versions for entry in known.values() if entry})
    of = f"{published.suite} {', '.join(versions)}" if versions else "nothing published"
    print_line(
        f"session {id}: {len(runs) - len(wrong)} of {len(runs)} runs are of {of}"
    )
    return _told(wrong)


def _told(wrong: list[str]) -> int:
    for line in islice(wrong, MOST_SHOWN):
        print_message(line)
    if len(wrong) > MOST_SHOWN:
        print_message(f"and {len(wrong) - MOST_SHOWN} more")
    return EXPECTATION_FAILED if wrong else HELD


def print_suites(suite: str | None, profile: str, capacity: str) -> None:
    """Print all suites with what they cost, or one in full."""
    capacity_bytes = size(capacity, "--capacity") or 0
    console = Terminal(highlight=False)
    try:
        if suite:
            _print_suite(console, suite, capacity_bytes)
        else:
            _print_suites(console, profile, capacity_bytes)
    except SuiteError as error:
        raise UsageError(str(error)) from error


def _print_suites(console: Console, profile: str, capacity_bytes: int) -> None:
    """Each collection with its version and origin: plans, and files that plans use."""
    for collection, members in groupby(suites(), lambda one: one.collection):
        version = f"{collection.name} {collection.version}"
        console.print(Text(f"{version}, {collection.origin}", style="bold"))
        _print_collection(console, list(members), profile, capacity_bytes)
    console.print("details: ioplan suites SUITE; to run one: ioplan run SUITE")


def _print_collection(
    console: Console, members: list[Suite], profile: str, capacity_bytes: int
) -> None:
    plans, used = _table("suite", "what"), _table("to use in a plan", "names")
    for heading in ("time", "drive writes"):
        plans.add_column(heading, justify="right", no_wrap=True)
    for suite in members:
        if suite.is_plan:
            shown = _shown(suite, profile, capacity_bytes)
            plans.add_row(suite.name, suite.title, *shown)
        else:
            used.add_row(f"{suite.name}.ioplan", " ".join(suite.names))
    for table in (plans, used):
        if table.row_count:
            console.print(table)


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    first, *others = headings
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, overflow="fold")
    return table


def _shown(suite: Suite, profile: str, capacity_bytes: int) -> tuple[str, str]:
    """Time and drive writes; a plan that is not right has neither."""
    if profile not in (*suite.profiles, FULL):
        return "no such profile", ""
    try:
        plan = check_file(suite.path, profile=profile)
    except (PlanError, OSError, ValueError):
        return "has errors", ""
    return _cost(Estimator(capacity_bytes).total(unfold(plan)), capacity_bytes)


def _cost(cost: Cost, capacity_bytes: int) -> tuple[str, str]:
    writes = digits(round(cost.written_bytes / capacity_bytes, 2))
    return f"~{time_text(cost.run_s)}", writes


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Lines that end where a sentence does; the console's width decides otherwise."""
    ends = re.compile(r"(?<=[.:])\n|\n(?=- |\n)")
    return (part.replace("\n", " ") for part in ends.split("\n".join(lines)))


def _print_suite(console: Console, name: str, capacity_bytes: int) -> None:
    """What a suite says of itself, its tests, and its values by profile."""
    suite = _named(name)
    for line in sentences(suite.about):
        console.print(Text(line))
    if not suite.is_plan:
        console.print(f"names: {' '.join(suite.names)}")
        return
    profiles = [FULL, *suite.profiles]
    plans = {one: check_file(suite.path, profile=one) for one in profiles}
    console.print()
    for test in (i for i in suite.items if isinstance(i, tree.Test)):
        console.print(Text(f"test {test.title.text}"))
    console.print(_values(plans, capacity_bytes))


def _named(name: str) -> Suite:
    known = name.removesuffix(".ioplan")
    for suite in suites():
        if suite.name == known:
            return suite
    raise UsageError(
        f"there is no suite {name!r}{did_you_mean(known, suite_names())}; "
        "ioplan suites lists them"
    )


def _values(plans: dict[str, CheckedPlan], capacity_bytes: int) -> Table:
    """A row a param, a column a profile, and what each comes to."""
    table = _table("param", *plans)
    names = dict.fromkeys(name for plan in plans.values() for name in plan.parameters)
    for name in names:  # a profile may begin with states that use other ones
        table.add_row(name, *(one.parameters.get(name, "") for one in plans.values()))
    estimator = Estimator(capacity_bytes)
    costs = [estimator.total(unfold(plan)) for plan in plans.values()]
    shown = [_cost(cost, capacity_bytes) for cost in costs]
    table.add_section()
    table.add_row("time", *(time for time, _ in shown))
    table.add_row("drive writes", *(writes for _, writes in shown))
    return table
