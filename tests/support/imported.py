"""Files of other programs as plans, and what is told of them."""

from plans import checked

from ioplan.language import Source
from ioplan.planner import Run, unfold
from ioplan_importer import import_plan


def imported(text, kind="fio", **variables):
    return import_plan(Source(f"t.{kind}", text), kind, variables)


def told(made):
    return [one.message for one in made.found]


def streams_of(plan):
    """The streams of the only run of a plan's text."""
    (run,) = (step for step in unfold(checked(plan)) if isinstance(step, Run))
    return run.workload.streams
