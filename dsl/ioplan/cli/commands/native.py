"""`ioplan plan --show-native`: what a backend's own program would be told."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ioplan.backends.backend import TargetFacts
from ioplan.cli.targets.choose import Choice
from ioplan.core.text import printable
from ioplan.job import Job
from ioplan.language.plan import CheckedPlan
from ioplan.planner.jobs import all_jobs
from ioplan.planner.summary import summary_of
from ioplan.planner.unfolding import unfold
from ioplan.runner.prepare.fit import described
from ioplan.runner.prepare.unmeasured import gaps_of


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


def _approximate(job: Job, choice: Choice) -> list[str]:
    """What the text says in another way than the plan."""
    gaps = gaps_of(choice.backend, job, choice.options)
    return [f"done instead: {described(gap)}" for gap in gaps if gap.instead]
