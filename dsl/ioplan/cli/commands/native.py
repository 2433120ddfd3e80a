"""`ioplan plan --show-native`: what a backend's own program would be told."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ioplan.backends import TargetFacts
from ioplan.cli.choose import Choice
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import NO_TARGET
from ioplan.core.error_kinds import CommandFault
from ioplan.core.text import printable
from ioplan.job import Job
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.plan import CheckedPlan
from ioplan.planner.jobs import all_jobs
from ioplan.planner.summary import summary_of
from ioplan.planner.unfold import unfold
from ioplan.runner.fit import Shortfall, described, gaps_of, shortfalls


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
