"""`ioplan plan --show-native`: what a backend's own program would be told."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ioplan.backends import TargetFacts
from ioplan.cli.choosing import Choice
from ioplan.cli.failure import UsageError
from ioplan.cli.reading import NO_TARGET
from ioplan.job import Job
from ioplan.language.diagnostic import PlanError
from ioplan.language.plan import CheckedPlan
from ioplan.planner.jobs import all_jobs, writes
from ioplan.planner.unfold import unfold
from ioplan.printable import printable
from ioplan.runner.fitting import Shortfall, described, shortfalls


def print_native(
    console: Console, plan: CheckedPlan, choice: Choice, facts: TargetFacts
) -> None:
    """Each different text once, under the step that it belongs to first."""
    seen: set[str] = set()
    read_only = not writes(unfold(plan))
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


def check_said(plan: CheckedPlan, choice: Choice, facts: TargetFacts) -> None:
    """Refuse what `run` would refuse anyhow. Raises PlanError, UsageError.

    Which host does what is the lab's to say, not the backend's. A target that is not
    named is taken for a device: a file can do less.
    """
    if facts.path == NO_TARGET:
        facts = facts.model_copy(update={"path": f"/dev/{NO_TARGET}"})
    writing = writes(unfold(plan))
    found = shortfalls(plan, choice.backend, facts, choice.options, writing)
    unsaid = [one for one in found if not one.gap.instead and one.gap.field != "hosts"]
    _refuse(unsaid, choice.backend.name)


def _refuse(unsaid: list[Shortfall], backend: str) -> None:
    placed = [one.diagnostic(backend, one.span) for one in unsaid if one.span]
    if placed:
        raise PlanError(placed)
    if unsaid:
        shown = "\n  ".join(one.text for one in unsaid)
        raise UsageError(f"{backend} cannot do the plan:\n  {shown}")


def _approximate(job: Job, choice: Choice) -> list[str]:
    """What the text says in another way than the plan."""
    gaps = choice.backend.gaps(job, choice.options)
    return [f"done instead: {described(gap)}" for gap in gaps if gap.instead]
