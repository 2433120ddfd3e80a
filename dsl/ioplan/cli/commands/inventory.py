"""`ioplan backends`, `targets`, `suites` and `schema`: what there is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.backends import Availability, BackendError, names
from ioplan.cli.choose import Choice, named_backend
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import size
from ioplan.core.text import did_you_mean
from ioplan.core.units import bytes_text, digits, time_text
from ioplan.devices.mounts import unseen_namespaces
from ioplan.guard.survey import Surveyed, survey
from ioplan.lab.lab import Lab
from ioplan.lab.lab_file import read_lab
from ioplan.language.check.check import check_file
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.language.syntax import tree
from ioplan.planner.estimate import Cost, Estimator
from ioplan.planner.unfold import unfold
from ioplan.records.record import record_schema
from ioplan.runner.fit import FEATURES, Support, feature_support
from ioplan.suites import Suite, suite_names, suites

ANSWERS = {
    "exactly": Text("exact", style="green"),
    "nearly": Text("approximate", style="yellow"),
    "no": Text("no", style="red"),
}


def print_backends(
    lab: Path | None, backend: str | None = None, options: list[str] | None = None
) -> None:
    """What can do the I/O here, and what each can express.

    With options, those backends that take them: of the version, the driver or the
    engine that they name. Raises BackendError, UsageError if none does.
    """
    known = read_lab(lab)
    found = _backends([backend] if backend else names(), known, options or [])
    console = Terminal()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("backend", "version", "usable", "remarks"):
        table.add_column(heading, overflow="fold")
    for name, one in found.items():
        here = _availability(one)
        usable = "yes" if here.usable else "no"
        table.add_row(name, here.version, usable, Text(here.reason))
    console.print(table)
    console.print(_matrix(found))


def _backends(
    wanted: list[str], lab: Lab, options: list[str]
) -> dict[str, Choice | BackendError]:
    """Each with its options; where some are given, only those that take them."""
    found: dict[str, Choice | BackendError] = {}
    for name in wanted:
        try:
            found[name] = named_backend(name, lab, options)
            if options:
                _support(found[name], next(iter(FEATURES)))
        except BackendError as error:
            found[name] = error
    if not options:
        return found
    taking = {name: one for name, one in found.items() if isinstance(one, Choice)}
    if not taking:
        texts = [str(one) for one in found.values()]
        raise UsageError("no backend takes these options:\n  " + "\n  ".join(texts))
    return {**taking}


def _availability(one: Choice | BackendError) -> Availability:
    if isinstance(one, BackendError):
        return Availability(usable=False, reason=str(one))
    try:
        return one.backend.availability(one.options)
    except BackendError as error:
        return Availability(usable=False, reason=str(error))


def _matrix(found: dict[str, Choice | BackendError]) -> Table:
    loaded = {name: one for name, one in found.items() if isinstance(one, Choice)}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("supports")
    for name in loaded:
        table.add_column(name)
    for feature in FEATURES:
        answers = (_support(one, feature) for one in loaded.values())
        table.add_row(feature, *(ANSWERS[one] for one in answers))
    return table


def _support(one: Choice | BackendError, feature: str) -> Support:
    """Raises BackendError for options that the backend does not have."""
    if isinstance(one, BackendError):
        raise one
    return feature_support(one.backend, one.options, feature)


VERDICT_STYLES = {"writable": "green", "readable": "yellow", "refused": "red"}


def print_targets(lab: Path | None, json: bool) -> None:
    """The block devices here, as rows or as one document."""
    found = list(survey(read_lab(lab)))
    if json:
        _print_json([one.model_dump(mode="json") for one in found])
    else:
        print_target_rows(Terminal(), found)


def _print_json(document: object) -> None:
    sys.stdout.write(f"{json.dumps(document, indent=2)}\n")


def print_target_rows(console: Console, found: list[Surveyed]) -> None:
    """A row for each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("target", "ID", "model"):
        table.add_column(heading, overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("on it", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for one in found:
        table.add_row(*_cells(one))
    console.print(table)
    if unseen_namespaces():
        console.print(
            "As this user, not all mounts and programs can be seen; what is in use is "
            "still refused when it is opened.",
            style="dim",
        )


def _cells(one: Surveyed) -> tuple[Text, ...]:
    identity = one.identity
    names = [one.name, one.path.removeprefix("/dev/")]
    reason = f": {one.reason}" if one.reason else ""
    return (
        Text("\n".join(filter(None, names))),
        Text(one.id),
        Text(identity.model if identity else ""),
        Text(bytes_text(one.size_bytes) if one.size_bytes else ""),
        Text(", ".join(one.holds)),
        Text(one.verdict + reason, style=VERDICT_STYLES[one.verdict]),
    )


def print_suites(suite: str | None, profile: str, capacity: str) -> None:
    """Print all suites with what they cost, or one in full."""
    capacity_bytes = size(capacity, "--capacity") or 0
    console = Terminal(highlight=False)
    if suite:
        _print_suite(console, suite, capacity_bytes)
    else:
        _print_suites(console, profile, capacity_bytes)


def _print_suites(console: Console, profile: str, capacity_bytes: int) -> None:
    """The plans, and the files that plans can use."""
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
    for name in next(iter(plans.values())).parameters:
        table.add_row(name, *(plan.parameters[name] for plan in plans.values()))
    estimator = Estimator(capacity_bytes)
    costs = [estimator.total(unfold(plan)) for plan in plans.values()]
    shown = [_shown(cost, capacity_bytes) for cost in costs]
    table.add_section()
    table.add_row("time", *(time for time, _ in shown))
    table.add_row("drive writes", *(writes for _, writes in shown))
    return table


def print_schema() -> None:
    """The JSON Schema of a run's record."""
    _print_json(record_schema())
