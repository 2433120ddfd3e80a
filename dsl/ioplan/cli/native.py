"""`ioplan plan --show-native`: what a backend's own program would be told."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ioplan.backends import TargetFacts
from ioplan.cli.choosing import Choice
from ioplan.language.plan import CheckedPlan
from ioplan.planner.jobs import all_jobs
from ioplan.planner.unfold import unfold


def print_native(
    console: Console, plan: CheckedPlan, choice: Choice, facts: TargetFacts
) -> None:
    """Each different text once, under the step that it belongs to first."""
    seen: set[str] = set()
    for step, job in all_jobs(unfold(plan), facts, read_only=False):
        text = choice.backend.native(job, choice.options)
        if text in seen:
            continue
        seen.add(text)
        console.print(Text(f"# {step.test.title}: {step}", style="bold"))
        console.print(Text(text.rstrip()), soft_wrap=True)
        console.print()
