"""Plans, and their diagnostics or what the checker makes of them."""

import ast
import re
from pathlib import Path

import pytest
from msgspec.structs import asdict

import ioplan.language
from fuzz.survive import survives
from golden import Golden
from ioplan import PlanError
from ioplan.language import (
    FULL,
    Matrix,
    Source,
    check,
    installed_plans,
    workload_of,
)
from ioplan.language.bind.matrix import cell_text
from ioplan.language.plan import IdleTemplate
from ioplan.workload import Workload

LANGUAGE = Golden("language")
SETTING = re.compile(r"^# set: (\w*)=(.*)$", re.M)
PROFILE = re.compile(r"^# profile: (.*)$", re.M)


@pytest.mark.parametrize("case", LANGUAGE)
def test_a_plan(case, golden, tmp_path):
    golden(LANGUAGE, case, outcome(LANGUAGE[case], tmp_path))
    survives(LANGUAGE[case].input)


def outcome(case, folder):
    """What the checker says."""
    path = case.put(folder, ".ioplan")
    settings = dict(SETTING.findall(case.input))
    profile = (*PROFILE.findall(case.input), FULL)[0]
    source, roots = Source(path.name, case.input), (folder, installed_plans())
    try:
        return {"plan": dump(check(source, roots, settings, profile=profile))}
    except PlanError as error:
        return {"errors": f"{error}\n"}


def dump(plan):
    """A checked plan, short enough to be read."""
    rows = [f"plan {plan.title}"]
    rows += [f"profile {plan.profile}"] if plan.profile != FULL else []
    rows += [f"on failure {plan.on_failure}"] if plan.on_failure else []
    rows += [f"accept {kind}" for kind in plan.accepted]
    rows += ["on unsteady continue"] if plan.on_unsteady == "continue" else []
    rows += ["on nothing found continue"] * (plan.on_nothing_found == "continue")
    rows += [f"param {name} = {text}" for name, text in plan.parameters.items()]
    for test in plan.tests:
        rows += ["", f"test {test.title}", *(f"  {row}" for row in _test(test))]
    return "\n".join([*rows, ""])


def _test(test):
    rows: list[str] = []
    if test.after:
        each = test.after.before_each
        rows.append(f"after {test.after.precondition.name}, each {each}")
        rows += [f"  {_prepare(step)}" for step in test.after.precondition.steps]
        then = test.after.then
        rows += [f"  then {_prepare(step)}" for step in then.steps] if then else []
    for axis in test.axes:
        values = (" ".join(value.text for value in row) for row in axis.values)
        rows.append(f"vary {' '.join(axis.names)}: {', '.join(values)}")
    cells = list(Matrix(test.axes, test.skip).cells())
    rows.append(f"cells {len(cells)}, last: {cell_text(cells[-1])}")
    last = cells[-1] | ({test.seek.axis: test.seek.highest} if test.seek else {})
    rows += [row for step in test.steps for row in _step(step, last)]
    rows += [_seek(test.seek)] if test.seek else []
    parts = (test.rounds, *test.expectations, *test.headlines, *test.charts)
    return rows + [repr(part) for part in parts if part]


def _seek(seek):
    """Without its values' attributes, which the streams of the last cell show."""
    ends = (seek.lowest.text, seek.highest.text, *(one.text for one in seek.values))
    said = {name: getattr(seek, name) for name in ("goal", "axis", "kind", "confirm")}
    limits = (seek.within_percent, seek.at_most, seek.share_percent)
    return f"seek {said} {ends} {limits} {seek.where}"


def _prepare(step):
    """Without defaults, so that a new clause changes no file."""
    said = [f"{name} {_said(one)}" for name, one in asdict(step).items() if one]
    return f"{type(step).__name__} {', '.join(said)}"


def _said(part):
    if isinstance(part, Workload):
        return part.model_dump_json(exclude_defaults=True)
    return repr(part)


def _step(step, cell):
    if isinstance(step, IdleTemplate):
        return [repr(step)]
    if not hasattr(step, "workload"):
        inner = [row for part in step.steps for row in _step(part, cell)]
        return [f"repeat {step.times!r}", *(f"  {row}" for row in inner)]
    streams = workload_of(step.workload, step.override, cell).streams
    timing = (step.run, step.limit, step.passes, step.warmup)
    said = (stream.model_dump_json(exclude_defaults=True) for stream in streams)
    rule = [f"  {step.rule!r}, every {step.every!r}"] if step.rule else []
    return [step.text, *(f"  {row}" for row in said), f"  {timing!r}", *rule]


# every message that the sources can say stands in some case

ELSEWHERE = (
    "is larger than",  # of the file, as ValueError: test_language.py
    "cannot read",
    "the plan uses more than",
    "the plan is nested too deeply",  # test_language.py
    "is a link to a file outside,",  # test_search_path.py
    "is not a mix",  # the lexer takes no such text
)


def messages():
    """The literal beginnings and middles of all messages, longest first."""
    found: list[str] = []
    for path in Path(ioplan.language.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _says(node):
                found += _literals(node)
    return sorted(set(found))


def _says(node):
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in ("error", "missing", "QuantityError", "MetricError", "Diagnostic")


def _literals(node):
    arguments = [
        a for a in node.args[:1] if isinstance(a, ast.Constant | ast.JoinedStr)
    ]
    parts = [
        max(_constants(argument), key=len, default="").strip() for argument in arguments
    ]
    return [part for part in parts if len(part) > 5]


def _constants(node):
    values = node.values if isinstance(node, ast.JoinedStr) else [node]
    return [v.value for v in values if isinstance(v, ast.Constant)]


def test_every_message_has_a_golden():
    said = "".join(one.expected.get("errors", "") for one in LANGUAGE.values())
    unsaid = [m for m in messages() if m not in said and m not in ELSEWHERE]
    assert not unsaid
