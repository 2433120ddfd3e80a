"""Files of other programs as plans, and what is told of them."""

from plans import checked

from ioplan.language import Source
from ioplan.planner import Run, unfold
from ioplan.workload import Stream
from ioplan_importer import ImportedPlan, import_plan


def imported(text: str, kind: str = "fio", **variables: str) -> ImportedPlan:
    return import_plan(Source(f"t.{kind}", text), kind, variables)


def told(made: ImportedPlan) -> list[str]:
    return [one.message for one in made.found]


def streams_of(plan: str) -> tuple[Stream, ...]:
    """The streams of the only run of a plan's text."""
    (run,) = (step for step in unfold(checked(plan)) if isinstance(step, Run))
    return run.workload.streams
