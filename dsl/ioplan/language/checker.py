"""The way from text to checked plan, and the only one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ioplan.language import tree
from ioplan.language.diagnostic import PlanError
from ioplan.language.findings import Findings
from ioplan.language.module import Loader, Module, library_roots, place, read_text
from ioplan.language.plan import CheckedPlan, Test
from ioplan.language.preconditions import defined as checked_precondition
from ioplan.language.scope import Parameters, Scope
from ioplan.language.source import Source
from ioplan.language.tests import TestChecker
from ioplan.language.workloads import defined as checked_workload

NO_SETTINGS: Mapping[str, str] = {}


def check_file(
    path: Path,
    settings: Mapping[str, str] = NO_SETTINGS,
    time_scale: float = 1.0,
) -> CheckedPlan:
    """Check a plan's file. Raises PlanError with all errors, OSError, ValueError."""
    source = Source(str(path), read_text(path))
    return check(source, library_roots(path), settings, time_scale, path.resolve())


def check(
    source: Source,
    roots: tuple[Path, ...] = (),
    settings: Mapping[str, str] = NO_SETTINGS,
    time_scale: float = 1.0,
    path: Path | None = None,
) -> CheckedPlan:
    """Check a plan's text. Raises PlanError with all errors."""
    findings = Findings()
    try:
        plan = _checked(source, roots, settings, time_scale, path, findings)
    except RecursionError:
        findings.error("the plan is nested too deeply", place_of(source))
        plan = None
    if findings.errors or plan is None:
        raise PlanError(findings.errors)
    return plan


def place_of(source: Source) -> tree.Span:
    """The start of a text."""
    return tree.Span(source, 0, min(1, len(source.text)))


def _checked(
    source: Source,
    roots: tuple[Path, ...],
    settings: Mapping[str, str],
    time_scale: float,
    path: Path | None,
    findings: Findings,
) -> CheckedPlan | None:
    main = Loader(roots, findings).module(source, path)
    parameters = Parameters(findings)
    parameters.override(main, settings)
    _check_definitions(main, parameters, time_scale, set())
    tests = _tests(main, Scope(main, parameters), time_scale)
    if not tests:
        findings.missing(
            "the plan has no test",
            place(main),
            place(main) if not main.file.damaged else main.file.damaged[0],
            'add for example: test "Reads" { run random 4KiB 100/0 for 10s }',
        )
    return CheckedPlan.model_construct(
        title=_title(main, findings),
        file=source.name,
        parameters=_parameters(main, parameters),
        tests=tests,
        time_scale=time_scale,
        text=source.text,
    )


def _title(main: Module, findings: Findings) -> str:
    plans = [item for item in main.file.items if isinstance(item, tree.Plan)]
    for extra in plans[1:]:
        findings.error("a file has one plan line at most", extra.span)
    return plans[0].title.text if plans else Path(main.source.name).stem


def _parameters(main: Module, parameters: Parameters) -> dict[str, str]:
    """All parameters that the main file can name, with the values used."""
    made: dict[str, str] = {}
    for name in main.names(tree.Param):
        found = main.find(name)
        if found and isinstance(found[0], tree.Param):
            value = parameters.value(*found)
            made[name] = value.text if value else ""
    return made


def _check_definitions(
    module: Module, parameters: Parameters, time_scale: float, seen: set[int]
) -> None:
    """Check what is defined, used or not, in a file and in all that it uses."""
    if id(module) in seen:
        return
    seen.add(id(module))
    scope = Scope(module, parameters)
    for item in module.file.items:
        if isinstance(item, tree.Param):
            parameters.value(item, module)
        elif isinstance(item, tree.Workload):
            checked_workload(item, module, scope)
        elif isinstance(item, tree.Precondition):
            checked_precondition(item, module, scope, time_scale)
    for _, used in module.used:
        _check_definitions(used, parameters, time_scale, seen)


def _tests(main: Module, scope: Scope, time_scale: float) -> tuple[Test, ...]:
    tests: list[Test] = []
    seen: dict[str, tree.Word] = {}
    for item in main.file.items:
        if not isinstance(item, tree.Test):
            continue
        if item.title.text in seen:
            scope.findings.error(
                f"two tests are called {item.title.text!r}", item.title.span
            )
        seen[item.title.text] = item.title
        made = TestChecker(item, scope, time_scale).check()
        if made:
            tests.append(made)
        else:
            seen[item.title.text] = item.title
    if seen and not tests:
        return _none_whole(scope)
    return tuple(tests)


def _none_whole(scope: Scope) -> tuple[Test, ...]:
    """Tests there are, but none without an error, which is said already."""
    assert scope.findings.found
    return (Test.model_construct(title=""),)
