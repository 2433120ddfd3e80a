"""Some tests of a plan, by their titles, and the list to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.core.text import counted, did_you_mean
from ioplan.language.bind.bind import workload_of
from ioplan.language.bind.matrix import Matrix
from ioplan.language.bind.references import needed_by
from ioplan.language.checker.run_steps import flat
from ioplan.language.plan import CheckedPlan, RunTemplate, Test
from ioplan.language.replayed import questions
from ioplan.workload import Stream

WILD = frozenset("*?[")


def only_tests(plan: CheckedPlan, globs: Sequence[str]) -> CheckedPlan:
    """The plan with the tests whose titles fit one of the globs; all without any.

    Those that they take a share of come along. Cases do not matter. Raises UsageError
    for a glob that fits none.
    """
    for glob in globs:
        if not any(fits(test.title, glob) for test in plan.tests):
            raise _no_test(plan, glob)
    if not globs:
        return plan
    fit = [one for one in plan.tests if any(fits(one.title, glob) for glob in globs)]
    wanted = {title for one in fit for title in (one.title, *needed_by(one))}
    kept = tuple(one for one in plan.tests if one.title in wanted)
    return replace(plan, tests=kept)


def fits(title: str, glob: str) -> bool:
    """Whether a test is meant; a title that is written out fits itself, whatever is
    in it."""
    title, glob = title.casefold(), glob.casefold()
    return glob == title or fnmatchcase(title, glob)


def _no_test(plan: CheckedPlan, glob: str) -> UsageError:
    titles = [test.title for test in plan.tests]
    near = did_you_mean(glob, titles)
    if not near and not WILD & {*glob}:
        inside = [title for title in titles if glob.casefold() in title.casefold()]
        near = f", did you mean '*{glob}*'?" if inside else ""
    return UsageError(
        f"no test of {plan.file} is called {glob!r}{near}; --list shows all"
    )


def print_tests(plan: CheckedPlan) -> None:
    """Each test with its cells and steps, a line each; the titles are as written."""
    width = max((len(test.title) for test in plan.tests), default=0)
    for test in plan.tests:
        cells = sum(1 for _ in Matrix(test.axes, test.skip).cells())
        steps = [step for step in flat(test.steps) if isinstance(step, RunTemplate)]
        runs = len(steps)
        axes = " ".join(name for axis in test.axes for name in axis.names)
        by = f" over {axes}" if axes else ""
        each = f", {counted(runs, 'run')} each" if runs > 1 else ""
        print_line(f"{test.title:<{width}}  {counted(cells, 'cell')}{by}{each}")
        for question in questions(_replays(test, steps), test.seek):
            print_line(f"  {question}")


def _replays(test: Test, steps: Sequence[RunTemplate]) -> Iterator[Stream]:
    for cell in Matrix(test.axes, test.skip).cells():
        for step in steps:
            streams = workload_of(step.workload, step.override, cell).streams
            yield from (stream for stream in streams if stream.replay)
