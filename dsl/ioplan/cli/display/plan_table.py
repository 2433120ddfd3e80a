"""A plan's steps as a table or as JSON, before anything runs."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from typing import Any

from pydantic_core import to_json
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.cli.display.totals import Look, Totals
from ioplan.core.text import counted
from ioplan.core.units import bytes_text, time_text
from ioplan.drive_account import DriveAccount
from ioplan.language.plan import CheckedPlan, Test, WriteStep
from ioplan.language.replayed import questions
from ioplan.planner.bounds import Speeds
from ioplan.planner.budget import share_lines, shares_within
from ioplan.planner.estimate import Cost
from ioplan.planner.forecast import StateForecast
from ioplan.planner.jobs import permutes
from ioplan.planner.steps import Idle, Prepare, Run, SingleStep
from ioplan.planner.target_state import TargetState
from ioplan.planner.unfolding import UNKNOWN, unfold
from ioplan.workload import Stream

MOST_ROWS = 40

ProvenState = tuple[TargetState, str]
"""The state that the target is in, and a line on why it is kept or not."""


def ignore(step: SingleStep) -> None:
    """For callers that look at no step."""


def plan_table(
    console: Console,
    plan: CheckedPlan,
    capacity_bytes: int,
    everything: bool,
    known: ProvenState = (UNKNOWN, ""),
    within_s: float | None = None,
    look: Look = ignore,
    account: DriveAccount | None = None,
    speeds: Speeds | None = None,
) -> None:
    """Print the steps of each test, and what all of it costs, from a state on.

    `account` is of the target's state before the plan, `speeds` are the drive's, where
    they are known. `look` is called with each step. Raises BudgetError where that is
    too much for the time.
    """
    state, why = known
    if why:
        console.print(Text(f"{why}\n", style="dim"))
    totals = Totals(capacity_bytes, speeds)
    forecast = StateForecast(account or DriveAccount.begun(capacity_bytes))
    number = drawn = 0
    for test, steps in groupby(unfold(plan, state), key=lambda step: step.test):
        console.print(Text(test.title, style="bold"))
        table = _table()
        forecast.begin()
        hidden = drawn = 0
        writes, replays = False, dict[Stream, None]()
        for step, cost, times in totals.adding(steps, look):
            forecast.add(step, cost.repeated(times).written_bytes)
            number += 1
            if isinstance(step, Run):
                writes = writes or step.writes
                for stream in step.workload.streams:
                    if stream.replay:
                        replays[stream] = None
            if drawn < MOST_ROWS or everything:
                drawn += 1
                probed = isinstance(step, Run) and step.probing is not None
                shown = cost.repeated(times) if probed else cost
                probes = times if probed else 0
                table.add_row(str(number), *_row(step, shown, probes, totals.mark))
            else:
                hidden += 1
        console.print(table)
        if forecast.line:
            console.print(Text(f"{forecast.line}\n", style="dim"))
        for question in questions(replays, test.seek):
            console.print(Text(f"{question}\n", style="dim"))
        _below(console, test, hidden, writes)
    for line in totals.lines(number):
        console.print(line, markup=False)
    if within_s:
        shares = shares_within(within_s, plan, capacity_bytes, state)
        console.print(Text("\n".join(["", *share_lines(shares, within_s)])))


def _table() -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("step", overflow="fold")
    table.add_column("run", no_wrap=True)
    for heading in ("time", "written"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _row(
    step: SingleStep, cost: Cost, probes: int, mark: str
) -> tuple[Text, str, str, str]:
    """A step at the most; of a seek all of its probes, as if at the highest value."""
    about = "" if _is_timed(step) else mark
    written = f"{mark}{bytes_text(cost.written_bytes)}" if cost.written_bytes else ""
    style = "dim" if isinstance(step, Prepare) else ""
    run = step.run_id if isinstance(step, Run) else ""
    said = _probes(step, probes) if isinstance(step, Run) and probes else str(step)
    text = Text(f"{said}{_order(step)}", style=style)
    return text, run, about + time_text(cost.run_s), written


def _probes(step: Run, most: int) -> str:
    assert step.probing and step.test.seek
    sought, cell = step.test.seek.axis, step.cell_text
    where = " ".join(f"{name}={text}" for name, text in cell.items() if name != sought)
    noun = "confirmation" if step.probing.phase == "confirm" else "probe"
    return f"{where}{': ' if where else ''}at most {counted(most, noun)}"


def _order(step: SingleStep) -> str:
    """What a precondition's text leaves to its rules, said."""
    write = step.step if isinstance(step, Prepare) else None
    if not isinstance(write, WriteStep):
        return ""
    once = any(permutes(write, stream) for stream in write.workload.streams)
    return " (permuted)" if once else ""


def _is_timed(step: SingleStep) -> bool:
    if isinstance(step, Run):
        return step.length.run_ns is not None
    return isinstance(step, Idle)


def _below(console: Console, test: Test, hidden: int, writes: bool) -> None:
    if hidden:
        console.print(f"… and {hidden:,} more (--all shows them)\n", style="dim")
    if test.rounds:
        console.print(f"{test.rounds.text}\n", style="dim")
    if test.seek:
        console.print(Text(f"{test.seek.text}{_aging(test, writes)}\n", style="dim"))


AGING = (
    "\nits probes write and change the drive's state; `after X before each run` "
    "would restore it"
)


def _aging(test: Test, writes: bool) -> str:
    renewed = test.after is not None and test.after.before_each == "run"
    return AGING if writes and not renewed else ""


def plan_json(
    plan: CheckedPlan,
    capacity_bytes: int,
    known: ProvenState = (UNKNOWN, ""),
    fit: dict[str, Any] | None = None,
    within_s: float | None = None,
    look: Look = ignore,
    account: DriveAccount | None = None,
    speeds: Speeds | None = None,
) -> None:
    """Print one document, written step by step so that it may be long."""
    state, why = known
    totals, out = Totals(capacity_bytes, speeds), sys.stdout
    forecast = StateForecast(account or DriveAccount.begun(capacity_bytes))
    out.write(f'{{"plan": {json.dumps(plan.title)}, "state": {json.dumps(why)}, ')
    out.write('"steps": [')
    title, met = "", dict[str, dict[str, str]]()
    done = totals.adding(unfold(plan, state), look)
    for number, (step, cost, times) in enumerate(done, 1):
        if step.test.title != title:
            title = step.test.title
            forecast.begin()
        forecast.add(step, cost.repeated(times).written_bytes)
        met[title] = forecast.as_json()
        comma = "," if number > 1 else ""
        out.write(f"{comma}\n{to_json(step_json(step, number, cost, times)).decode()}")
    out.write(f'\n], "met": {json.dumps(met)}, "total": {json.dumps(totals.as_json())}')
    if within_s:
        shares = shares_within(within_s, plan, capacity_bytes, state)
        out.write(f', "within": {json.dumps([one.as_json() for one in shares])}')
    out.write(f', "fit": {json.dumps(fit)}}}\n' if fit else "}\n")


def step_json(step: SingleStep, number: int, cost: Cost, times: int) -> dict[str, Any]:
    """One step for programs."""
    found: dict[str, Any] = {
        "number": number,
        "test": step.test.title,
        "what": type(step).__name__.lower(),
        "text": str(step),
        "estimated_s": round(cost.run_s, 6),
        "estimated_written_bytes": round(cost.written_bytes),
    }
    if times > 1:
        found["times_at_most"] = times
    if isinstance(step, Run):
        found |= {
            "run_id": step.run_id,
            "cell": step.cell_text,
            **{k: v for k, v in step.length._asdict().items() if v},
            "workload": step.workload.model_dump(mode="json", exclude_defaults=True),
            "after": step.after.model_dump() if step.after else None,
        }
        asked = questions(step.workload.streams, step.test.seek)
        found |= {"answers": asked} if asked else {}
    if isinstance(step, Prepare):
        found |= {"state": step.state.model_dump(), "position": step.position}
        found |= {"permuted": True} if _order(step) else {}
    return found
