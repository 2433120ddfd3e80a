"""What is asked of drives: a load in the plan's words, and the latency it may have."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from ioplan.core.error_kinds import ExplainedError
from ioplan.core.text import did_you_mean
from ioplan.language.check.check import check
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.metric import Metric
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Source
from ioplan.language.syntax.tree import Workload
from ioplan.planner.steps import Run
from ioplan.planner.suites.suite import suite_file
from ioplan.planner.unfold import unfold
from ioplan.workload import Stream

EXAMPLE = '"database 70/30 8KiB, p99 < 1ms"'
USES = "std/workloads"
"""The library whose workloads are the named uses."""
PATTERNS = ("random", "sequential")
SHARE = re.compile(r"\d+(?:\.\d+)?/\d+(?:\.\d+)?")
SIZE = re.compile(r"\d+(?:\.\d+)?[kKMG]?i?B")
DEPTHS = "1, 2, 4, 8, 16, 32, 64, 128, 256"


class QuestionError(ExplainedError):
    """What was asked is no question that sessions could answer."""


class Question(Struct, frozen=True):
    """How many I/Os per second a load may have such that the metric is below a limit.

    Without a `metric` it is asked for the most. `limit` is in the metric's base unit;
    `name` is the load as it was asked for; `load` and `demand` are as a plan has them.
    """

    name: str
    load: str
    stream: Stream
    metric: Metric | None = None
    limit: float = 0.0
    demand: str = ""

    def test(self, expected: str = "") -> str:
        """The test of a plan that measures what answers it, and what is expected."""
        lines = [
            f'test "{self.name}" {{',
            f"  run    {self.load} for 1min",
            f"  vary   qd in {DEPTHS}",
            *([f"  {expected}"] if expected else []),
            *([f"  chart  lines {self.metric} by iops"] if self.metric else []),
            "}",
        ]
        return "\n".join(lines)


def parse_question(text: str) -> Question:
    """A question as people write it. Raises QuestionError."""
    load, *demands = (part.strip() for part in text.split(","))
    if len(demands) > 1:
        raise QuestionError(f"one limit at a time: ask {EXAMPLE}")
    demand = demands[0] if demands else ""
    words = _ordered(load)
    plan = _checked(words, demand)
    (stream,) = _run_of(plan).workload.streams
    if not demand:
        return Question(load, words, stream)
    (expected,) = plan.tests[0].expectations
    if expected.metric.unit != "ns" or expected.operator not in ("<", "<="):
        raise QuestionError(f"{demand!r} is no limit of a latency: ask {EXAMPLE}")
    return Question(load, words, stream, expected.metric, expected.limit, demand)


def _ordered(load: str) -> str:
    """Pattern, size and share, in a plan's order; what is missing is of a named use."""
    words = load.split()
    share = [one for one in words if SHARE.fullmatch(one)]
    size = [one for one in words if SIZE.fullmatch(one)]
    pattern = [one for one in words if one in PATTERNS]
    rest = [one for one in words if one not in (*share, *size, *pattern)]
    if len(share) > 1 or len(size) > 1 or len(pattern) > 1 or len(rest) > 1:
        raise QuestionError(f"{load!r} is not one load: ask {EXAMPLE}")
    use = _use(rest[0]) if rest else ""
    if use and not (share or size or pattern):
        return use
    known = use.split() if use else []
    parts = [
        pattern or known[:1] or ["random"],
        size or [one for one in known if SIZE.fullmatch(one)],
        share or [one for one in known if SHARE.fullmatch(one)],
    ]
    if not all(parts):
        raise QuestionError(
            f"{load!r} has no {'block size' if not parts[1] else 'share of reads'}: "
            f"ask {EXAMPLE}"
        )
    return " ".join(one for part in parts for one in part)


def _use(name: str) -> str:
    """What a workload of the library is, written in a plan."""
    known = uses()
    if name not in known:
        raise QuestionError(
            f"unknown use {name!r}{did_you_mean(name, known)}; known: "
            f"{', '.join(known)}; or {EXAMPLE}"
        )
    return known[name]


def uses() -> dict[str, str]:
    """The named uses, each as a plan writes its load."""
    path = suite_file(USES)
    assert path  # the library comes with the tool
    source = Source(USES, path.read_text())
    file, _ = parse(source)
    specs = [
        (one.name.text, one.spec)
        for one in file.items
        if isinstance(one, Workload) and one.spec
    ]
    return {
        name: " ".join(source.text[spec.span.start : spec.span.end].split())
        for name, spec in specs
    }


def _checked(load: str, demand: str) -> CheckedPlan:
    lines = [f"run {load} for 1s", *([f"expect {demand}"] if demand else [])]
    text = 'plan "question"\ntest "question" {\n' + "\n".join(lines) + "\n}\n"
    try:
        return check(Source("question", text), path=Path("question.ioplan"))
    except PlanError as error:
        first = error.diagnostics[0]
        raise QuestionError(f"{first.message}: ask {EXAMPLE}") from None


def _run_of(plan: CheckedPlan) -> Run:
    return next(step for step in unfold(plan) if isinstance(step, Run))
