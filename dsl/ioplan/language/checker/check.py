"""The way from text to checked plan, and the only one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.text import did_you_mean
from ioplan.language.bind.matrix import Matrix
from ioplan.language.bind.references import runs_in, shares_of
from ioplan.language.checker.modules import (
    Loader,
    Module,
    library_roots,
    place,
    read_text,
)
from ioplan.language.checker.parameters import (
    Parameters,
    picked,
    used_definitions,
    used_params,
)
from ioplan.language.checker.preconditions import defined as checked_precondition
from ioplan.language.checker.run_steps import MOST_RUNS
from ioplan.language.checker.scope import Earlier, Scope
from ioplan.language.checker.test_block import checked as checked_test
from ioplan.language.checker.workloads import defined as checked_workload
from ioplan.language.errors.collector import EnoughFound, Findings
from ioplan.language.errors.diagnostic import Diagnostic, PlanError, too_deep
from ioplan.language.lints.lints import ACCEPTED
from ioplan.language.lints.warnings import errors_of
from ioplan.language.plan import (
    FULL,
    CheckedPlan,
    RepeatTemplate,
    StepTemplate,
    Test,
)
from ioplan.language.quantity import Quantity
from ioplan.language.search.search_path import Folders, RecordedFiles, no_folders
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Source, Span
from ioplan.trace.known import recorded_trace

CheckTest = Callable[[tree.Test, Scope, float], Test | None]
NO_SETTINGS: Mapping[str, str] = {}


def check_file(
    path: Path,
    settings: Mapping[str, str] = NO_SETTINGS,
    time_scale: float = 1.0,
    profile: str = FULL,
    more: Folders = no_folders,
    library: bool = False,
) -> CheckedPlan:
    """Check a plan's file; `more` are the folders in which it is looked for last.

    A `library` needs no test. Raises PlanError with all errors, OSError, ValueError.
    """
    source, roots = Source(str(path), read_text(path)), library_roots(path)
    at = path.resolve()
    return check(source, roots, settings, time_scale, at, profile, more, library)


def check(
    source: Source,
    roots: tuple[Path, ...] = (),
    settings: Mapping[str, str] = NO_SETTINGS,
    time_scale: float = 1.0,
    path: Path | None = None,
    profile: str = FULL,
    more: Folders = no_folders,
    library: bool = False,
) -> CheckedPlan:
    """Check a plan's text with the values of a profile, then with those set.

    Raises PlanError with all errors, or the first hundred; ValueError for a time
    scale that is none. A value for a param that no test uses changes nothing.
    """
    if not 0 < time_scale < inf:
        raise ValueError(f"a time scale is a number above 0, not {time_scale}")
    findings = Findings()
    loader = Loader(roots, findings, more=more)
    found = examine(loader, source, settings, time_scale, path, profile)
    if found.errors or found.plan is None:
        raise PlanError(found.errors)
    if not (found.plan.tests or library):
        raise PlanError([_no_test(found.main)])
    if errors := errors_of(found.plan):
        raise PlanError(errors)
    return found.plan


def check_recorded(
    source: Source,
    files: Mapping[str, str],
    settings: Mapping[str, str],
    time_scale: float,
    profile: str,
) -> CheckedPlan:
    """Check a plan of a record, with the texts of its files. Raises as `check` does."""
    loader = Loader(
        (),
        Findings(),
        read=lambda path: files[str(path)],
        survey=lambda path: recorded_trace(files[str(path)]),
    )
    loader.path = RecordedFiles(files)
    found = examine(loader, source, settings, time_scale, None, profile)
    if found.errors or found.plan is None:
        raise PlanError(found.errors)
    return found.plan


class Examined(Struct, frozen=True):
    """What could be made out of a text, right or wrong.

    `plan` has the tests without errors; it is None where the check did not get there.
    """

    main: Module
    errors: list[Diagnostic]
    plan: CheckedPlan | None


def examine(
    loader: Loader,
    source: Source,
    settings: Mapping[str, str] = NO_SETTINGS,
    time_scale: float = 1.0,
    path: Path | None = None,
    profile: str = FULL,
    check_test: CheckTest = checked_test,
) -> Examined:
    """All that can be said of a text, for those who show it while it is written.

    `check_test` checks a test, or knows what came of it before.
    """
    findings = loader.findings
    main, plan, last = Module(source, tree.File(source, ())), None, []
    try:
        main = loader.module(source, path)
        parameters = Parameters(findings)
        chosen = picked(main, profile, parameters)
        parameters.instead = chosen.instead
        given = chosen.values | parameters.override(main, settings)
        used = used_definitions(main, chosen.instead)
        parameters.use({key: value for key, value in given.items() if key in used})
        plan = _checked(main, parameters, time_scale, profile, loader, check_test)
    except EnoughFound:
        pass
    except RecursionError:
        last = [too_deep(source)]
    return Examined(main, [*findings.errors, *last], plan)


def _checked(
    main: Module,
    parameters: Parameters,
    time_scale: float,
    profile: str,
    loader: Loader,
    check_test: CheckTest,
) -> CheckedPlan:
    _check_definitions(main, parameters, time_scale, set())
    tests = _tests(main, Scope(main, parameters), time_scale, check_test)
    known = main, parameters.findings
    return CheckedPlan(
        title=_named(_title(main, parameters.findings), profile),
        file=main.source.name,
        parameters=_parameters(main, parameters),
        profile=profile,
        on_failure=_on_failure(*known),
        on_unsteady=_fails(tree.OnUnsteady, "'on unsteady'", *known),
        on_nothing_found=_fails(tree.OnNothingFound, "'on nothing found'", *known),
        accepted=_accepted(main, parameters.findings),
        tests=tests,
        time_scale=time_scale,
        text=main.source.text,
        files=loader.files(),
    )


def _named(title: str, profile: str) -> str:
    """With its profile, unless that is the whole plan: what it measures is less."""
    return title if profile == FULL else f"{title}, profile {profile}"


def _title(main: Module, findings: Findings) -> str:
    plans = [item for item in main.file.items if isinstance(item, tree.Plan)]
    for extra in plans[1:]:
        findings.error("a file may have only one plan line", extra.span)
    return plans[0].title.text if plans else Path(main.source.name).stem


def _on_failure(main: Module, findings: Findings) -> Literal["stop", "continue"] | None:
    """What a failed run means; None where the plan leaves that to the lab."""
    said = _said(tree.OnFailure, "'on failure'", main, findings)
    if not said:
        return None
    return "stop" if said == "stop" else "continue"


def _fails(
    kind: type[tree.Outcome], name: str, main: Module, findings: Findings
) -> Literal["fail", "continue"]:
    """Whether what was asked for and not reached makes the exit code 1."""
    said = _said(kind, name, main, findings)
    return "continue" if said == "continue" else "fail"


def _accepted(main: Module, findings: Findings) -> tuple[str, ...]:
    """The kinds of lints that are meant so, each said once."""
    seen: dict[str, Span] = {}
    for item in main.file.items:
        if not isinstance(item, tree.Accept):
            continue
        kind = item.what.text
        if kind not in ACCEPTED:
            findings.error(
                f"unknown kind of warning {kind!r}{did_you_mean(kind, ACCEPTED)}",
                item.what.span,
                "accept one of: " + ", ".join(f'"{one}"' for one in ACCEPTED),
            )
        elif kind in seen:
            findings.twice(f"'accept' of {kind!r}", item.span, seen[kind])
        seen.setdefault(kind, item.span)
    return tuple(seen)


def _said(kind: type[tree.Outcome], name: str, main: Module, findings: Findings) -> str:
    """The word after `on …`, which stands once at most; empty without any."""
    said = [item for item in main.file.items if isinstance(item, kind)]
    for extra in said[1:]:
        findings.twice(name, extra.span, said[0].span)
    return said[0].what.text if said else ""


def _parameters(main: Module, parameters: Parameters) -> dict[str, str]:
    """All parameters that tests use, as the main file names them, with their values."""
    used = used_params(main, parameters.instead)
    values = {name: parameters.value(*found) for name, found in used.items()}
    return {name: value.text if value else "" for name, value in values.items()}


def _check_definitions(
    module: Module, parameters: Parameters, time_scale: float, seen: set[int]
) -> None:
    """Check what is defined, used or not, in a file and in all that it uses."""
    if id(module) in seen:
        return
    seen.add(id(module))
    for _, used in module.used:
        _check_definitions(used, parameters, time_scale, seen)
    scope = Scope(module, parameters)
    for item in module.file.items:
        if isinstance(item, tree.Param):
            parameters.value(item, module)
        elif isinstance(item, tree.Workload):
            checked_workload(item, module, scope)
        elif isinstance(item, tree.Precondition):
            checked_precondition(item, module, scope, time_scale)


def _tests(
    main: Module, scope: Scope, time_scale: float, check_test: CheckTest
) -> tuple[Test, ...]:
    """The tests without errors."""
    nodes = [item for item in main.file.items if isinstance(item, tree.Test)]
    if not nodes and not main.own:  # a file of names is a library
        found = _no_test(main)
        whole = Span(main.source, 0, len(main.source.text))
        scope.findings.missing(found.message, found.span, whole, found.help)
    _check_titles(nodes, scope.findings)
    known = Earlier(later={node.title.text for node in nodes})
    inside = replace(scope, earlier=known)
    planned = 0
    for node in nodes:
        made = known.tests[node.title.text] = check_test(node, inside, time_scale)
        planned += planned_runs(made) if made else 0
        if planned > MOST_PLANNED:
            scope.findings.error(
                f"with this test the plan is too large: more than {MOST_RUNS:,} runs, "
                "or what takes as long to plan",
                node.title.span,
                "vary less, or make several plans of it",
            )
            break
    return tuple(test for test in known.tests.values() if test)


SOUGHT, PREPARED = 12, 3
"""As how many runs a seek counts, and a run that has a preparation of its own."""
MOST_PLANNED = MOST_RUNS + MOST_RUNS // 2


def planned_runs(test: Test) -> int:
    """The runs of a test, with what takes as long to plan: seeks, preparations, and the
    tests that it takes a share of."""
    each = (SOUGHT if test.seek else 1) * (
        PREPARED if test.after and test.after.before_each else 1
    )
    size = Matrix(test.axes).size
    shares = {id(one): one.test for r in runs_in(test.steps) for _, one in shares_of(r)}
    return size * each * most_runs(test.steps) + sum(map(planned_runs, shares.values()))


def most_runs(steps: Iterable[StepTemplate]) -> int:
    """The steps of a cell at most."""
    total = 0
    for step in steps:
        if isinstance(step, RepeatTemplate):
            known = step.times.value if isinstance(step.times, Quantity) else 1
            total += int(known) * most_runs(step.steps)
        else:
            total += 1
    return total


def _no_test(main: Module) -> Diagnostic:
    return Diagnostic(
        "the plan has no test",
        place(main),
        'add for example: test "Reads" { run random 4KiB 100/0 for 10s }',
    )


def _check_titles(nodes: list[tree.Test], findings: Findings) -> None:
    seen: set[str] = set()
    for title in (node.title for node in nodes):
        if not title.text.strip():
            findings.error("a test needs a title", title.span)
        elif title.text in seen:
            findings.error(f"two tests are called {title.text!r}", title.span)
        seen.add(title.text)
