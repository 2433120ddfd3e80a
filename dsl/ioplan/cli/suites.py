"""`ioplan suites`: what comes with ioplan, what it does and what it costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.cli.failure import UsageError
from ioplan.language import tree
from ioplan.language.checker import check_file
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.planner.estimate import Cost, Estimator
from ioplan.planner.unfold import unfold
from ioplan.report.units import digits, time_text
from ioplan.suggest import did_you_mean
from ioplan.suites import Suite, suite_names, suites


def print_suites(console: Console, profile: str, capacity_bytes: int) -> None:
    """Print the plans with what they cost, and the files that plans can use."""
    plans, used = _table("suite", "what"), _table("to use in a plan", "names")
    for heading in ("time", "drive writes"):
        plans.add_column(heading, justify="right", no_wrap=True)
    for suite in suites():
        if suite.is_plan:
            cost = _cost(suite, profile, capacity_bytes)
            plans.add_row(suite.name, suite.title, *_shown(cost, capacity_bytes))
        else:
            used.add_row(f"{suite.name}.ioplan", " ".join(suite.names))
    console.print(plans)
    console.print(used)
    console.print("ioplan suites SUITE tells more; ioplan run SUITE runs it")


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    first, *others = headings
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, overflow="fold")
    return table


def _cost(suite: Suite, profile: str, capacity_bytes: int) -> Cost | None:
    if profile not in (*suite.profiles, FULL):
        return None
    plan = check_file(suite.path, profile=profile)
    return Estimator(capacity_bytes).total(unfold(plan))


def _shown(cost: Cost | None, capacity_bytes: int) -> tuple[str, str]:
    if cost is None:
        return "no such profile", ""
    writes = digits(round(cost.written_bytes / capacity_bytes, 2))
    return f"~{time_text(cost.run_s)}", writes


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Lines that end where a sentence does; the console's width decides otherwise."""
    ends = re.compile(r"(?<=[.:])\n|\n(?=- |\n)")
    return (part.replace("\n", " ") for part in ends.split("\n".join(lines)))


def print_suite(console: Console, name: str, capacity_bytes: int) -> None:
    """Print what a suite says of itself, its tests, and its values by profile."""
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
    for name in next(iter(plans.values())).parameters:
        table.add_row(name, *(plan.parameters[name] for plan in plans.values()))
    estimator = Estimator(capacity_bytes)
    costs = [estimator.total(unfold(plan)) for plan in plans.values()]
    shown = [_shown(cost, capacity_bytes) for cost in costs]
    table.add_section()
    table.add_row("time", *(time for time, _ in shown))
    table.add_row("drive writes", *(writes for _, writes in shown))
    return table
