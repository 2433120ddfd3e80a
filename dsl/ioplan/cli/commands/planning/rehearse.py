"""`ioplan plan --rehearse`: a plan on the simulated drive."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct, field
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.backends.backend import TargetFacts, TargetRequest, find
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import SIM
from ioplan.cli.targets.power import nothing_in_the_midst
from ioplan.core.units import bytes_text, digits, time_text
from ioplan.job import SECOND_NS
from ioplan.language.plan import CheckedPlan
from ioplan.planner.budget import shares_within
from ioplan.planner.estimate import Cost
from ioplan.planner.steps import Idle, Prepare, RoundsOf, Run, SeekOf, Step
from ioplan.planner.summary import summary_of
from ioplan.records.record import RunRecord, Steady
from ioplan.records.session import Session
from ioplan.results.store.store import Store
from ioplan.runner.execute.execute import now
from ioplan.runner.execute.observer import SessionObserver
from ioplan.runner.session.budget import TIME_IS_UP
from ioplan.runner.session.context import SessionContext
from ioplan.runner.session.session import SessionRunner


class Row(Struct):
    """A step, how often it was done, and what that cost in all."""

    step: Prepare | Run | Idle
    times: int = 0
    cost: Cost = field(default_factory=Cost)

    def add(self, run_s: float, written_bytes: float) -> None:
        """Count once more, or more of the same."""
        had = self.cost
        self.cost = Cost(had.run_s + run_s, had.written_bytes + written_bytes)


class Rehearsal(SessionObserver):
    """Adds up what the steps of a plan cost while they are done."""

    def __init__(self) -> None:
        self.rows: dict[tuple[object, ...], Row] = {}
        self.row: Row | None = None
        self.judged: dict[str, str] = {}

    def step(self, step: Step, number: int) -> None:
        """The steps of a round, and of a seek, are told one by one."""
        if isinstance(step, RoundsOf | SeekOf):
            return
        self.row = self.rows.setdefault(_key(step), Row(step))
        self.row.times += 1
        pause_ns = getattr(step, "pause_ns", 0) or getattr(
            getattr(step, "step", None), "pause_ns", 0
        )
        self.row.add(pause_ns / SECOND_NS, 0.0)

    def record(self, record: RunRecord) -> None:
        """The warm-up is paid as well, at the same rate."""
        assert self.row
        warmup_s = record.asked.job.warmup_ns / SECOND_NS
        wrote = record.directions.get("write")
        share = 1 + warmup_s / record.run_s if record.run_s else 1.0
        self.row.add(record.run_s + warmup_s, wrote.bytes * share if wrote else 0.0)

    def steady(self, steady: Steady, round: int) -> None:
        """The last word on each test."""
        if self.row and isinstance(self.row.step, Run):
            text = steady.claim
            self.judged[self.row.step.test.title] = f"{text} after {round} rounds"

    @property
    def total(self) -> Cost:
        """All steps together."""
        costs = [row.cost for row in self.rows.values()]
        run_s = sum(cost.run_s for cost in costs)
        return Cost(run_s, sum(cost.written_bytes for cost in costs))


def _key(step: Prepare | Run | Idle) -> tuple[object, ...]:
    title = step.test.title
    if isinstance(step, Run):
        return title, step.index, step.run_id
    if isinstance(step, Prepare):
        return title, step.state.digest, step.position
    return title, str(step.cell), step.text


def rehearse(
    plan: CheckedPlan,
    capacity_bytes: int | None,
    sim: Path | None,
    within_s: float | None = None,
) -> tuple[Rehearsal, TargetFacts]:
    """Do a plan on a simulated drive; nothing is kept. Raises BackendError."""
    backend, found = find(SIM), Rehearsal()
    options = {"drive": str(sim)} if sim else {}
    summary = summary_of(plan)
    nothing_in_the_midst(summary, "a rehearsal on a simulated drive")
    request = TargetRequest(
        create_bytes=capacity_bytes, writes=summary.writes, options=options
    )
    with TemporaryDirectory() as folder, closing(backend.open(request)) as drive:
        session = Session(
            plan=plan.title, started_at=now(), backend=SIM, target=drive.facts.path
        )
        with Store.open(Path(folder) / "rehearsal.db") as store:
            context = SessionContext(
                plan=plan,
                summary=summary,
                backend=backend,
                drive=drive,
                store=store,
                session=session,
                options=options,
                observer=found,
                on_failure="continue",
                within_s=within_s,
                shares=shares_within(within_s, plan, drive.facts.capacity_bytes),
            )
            runner = SessionRunner(context)
            outcome = runner.run()
        ended = runner.interrupt.why == TIME_IS_UP
        if outcome.interrupted and not ended:  # half of the costs would look like all
            raise KeyboardInterrupt
        _done(outcome.failure)
        return found, drive.facts


def _done(failure: str) -> None:
    if failure:
        raise UsageError(f"the rehearsal failed: {failure}")


def print_rehearsal(
    console: Console,
    plan: CheckedPlan,
    capacity_bytes: int | None,
    sim: Path | None,
    as_json: bool,
    within_s: float | None = None,
) -> None:
    """Rehearse a plan and print what it cost; without a size, on the drive's own."""
    found, facts = rehearse(plan, capacity_bytes, sim, within_s)
    if as_json:
        print_line(rehearsal_json(found, facts, plan))
    else:
        rehearsal_table(console, found, facts)


def rehearsal_table(console: Console, found: Rehearsal, facts: TargetFacts) -> None:
    """Each step once, with how often it was done and what that cost in all."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("step", overflow="fold")
    table.add_column("run", no_wrap=True)
    for heading in ("times", "time", "written"):
        table.add_column(heading, justify="right", no_wrap=True)
    title = ""
    for row in found.rows.values():
        if row.step.test.title != title:
            title = row.step.test.title
            table.add_row(Text(title, style="bold"))
        table.add_row(*_cells(row))
    console.print(table)
    for title, text in found.judged.items():
        console.print(Text(f"{title}: {text}"))
    total = found.total
    console.print(
        f"rehearsed on {facts.identity['model']}, {bytes_text(facts.capacity_bytes)}: "
        f"{time_text(total.run_s)}, {bytes_text(total.written_bytes)} written, "
        f"{digits(round(total.written_bytes / facts.capacity_bytes, 3))} drive writes",
        markup=False,
    )


def _cells(row: Row) -> tuple[Text, str, str, str, str]:
    written = bytes_text(row.cost.written_bytes) if row.cost.written_bytes else ""
    style = "dim" if isinstance(row.step, Prepare) else ""
    run = row.step.run_id if isinstance(row.step, Run) else ""
    name = Text(f"  {row.step}", style=style)
    return name, run, str(row.times), time_text(row.cost.run_s), written


def rehearsal_json(found: Rehearsal, facts: TargetFacts, plan: CheckedPlan) -> str:
    """A rehearsal for programs, as one document."""
    total = found.total
    document: dict[str, Any] = {
        "plan": plan.title,
        "drive": facts.model_dump(),
        "steps": [_row_json(row) for row in found.rows.values()],
        "rounds": found.judged,
        "total": {
            "run_s": round(total.run_s, 3),
            "written_bytes": round(total.written_bytes),
            "drive_writes": round(total.written_bytes / facts.capacity_bytes, 6),
        },
    }
    return json.dumps(document, indent=1)


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "test": row.step.test.title,
        "what": type(row.step).__name__.lower(),
        "text": str(row.step),
        "run_id": row.step.run_id if isinstance(row.step, Run) else None,
        "times": row.times,
        "run_s": round(row.cost.run_s, 6),
        "written_bytes": round(row.cost.written_bytes),
    }
