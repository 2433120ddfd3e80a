"""The checked plan: right by construction, because only `checker` makes one.

Names are resolved and quantities are values. What an axis decides stays open as
a reference until `planner` binds it for each cell.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from ioplan.language.arithmetic import reckoned, share_of
from ioplan.language.metric import Metric
from ioplan.language.quantity import Kind, Quantity
from ioplan.language.syntax.source import Span
from ioplan.workload import Workload

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
AT_MOST, AT_LEAST = ("<", "<="), (">", ">=")

FULL = "full"
"""The profile that needs no name: the values that the params themselves say."""


class Checked(Struct, frozen=True, kw_only=True):
    """A part of a checked plan; spans are kept for messages."""


class Ref(Checked, frozen=True, kw_only=True):
    """A quantity that an axis of this name decides."""

    name: str

    def value_in(self, cell: Mapping[str, CellValue]) -> Quantity:
        """The quantity in a cell."""
        found = cell[self.name].quantity
        assert found is not None, "the checker gives every name its quantity"
        return found


class Formula(Checked, frozen=True, kw_only=True):
    """What `+ - * /` makes of two amounts that axes decide."""

    operator: str
    parts: tuple[Amount, ...]
    text: str

    @property
    def name(self) -> str:
        """How the plan writes it."""
        return self.text

    def value_in(self, cell: Mapping[str, CellValue]) -> Quantity:
        """The quantity in a cell. Raises QuantityError, of none that was checked."""
        left, right = (
            part if isinstance(part, Quantity) else part.value_in(cell)
            for part in self.parts
        )
        return reckoned(self.operator, left, right)


class ShareOf(Checked, frozen=True, kw_only=True):
    """A share of what an earlier test finds in the cell of the same axes.

    Until it is found it stands between `lowest` and `highest`. Of a test that seeks
    nothing it is the highest IOPS.
    """

    share: Amount
    test: Test
    lowest: Quantity
    highest: Quantity
    text: str

    @property
    def name(self) -> str:
        """How the plan writes it."""
        return self.text

    @property
    def found_name(self) -> str:
        """What stands in a cell for what was found: no axis can be called so."""
        return f'of "{self.test.title}"'

    def value_in(self, cell: Mapping[str, CellValue]) -> Quantity:
        """The quantity in a cell; before anything is found, the most it can be."""
        share = self.share
        closed = share if isinstance(share, Quantity) else share.value_in(cell)
        found = cell.get(self.found_name)
        whole = found.quantity if found and found.quantity else self.highest
        return share_of(closed, whole)


OpenAmount = Ref | Formula | ShareOf
Amount = Quantity | OpenAmount


def axes_of(amount: Amount | None) -> tuple[str, ...]:
    """The names of the axes that decide an amount."""
    if isinstance(amount, Ref):
        return (amount.name,)
    if isinstance(amount, ShareOf):
        return axes_of(amount.share)
    if not isinstance(amount, Formula):
        return ()
    return tuple(dict.fromkeys(name for part in amount.parts for name in axes_of(part)))


class StreamTemplate(Checked, frozen=True, kw_only=True):
    """A stream of which some fields may be open.

    `attributes` are those of `workload.Stream` (and `qd_scope`, `rate_scope`,
    `qd_over_all`, `rate_over_all` and `arrivals`); `refs` maps a field of the language
    to what axes decide.
    """

    name: str = "main"
    attributes: dict[str, Any] = {}
    refs: dict[str, OpenAmount] = {}
    spans: dict[str, Span] = {}


class WorkloadTemplate(Checked, frozen=True, kw_only=True):
    """A workload of which some fields may be open."""

    name: str = ""
    streams: tuple[StreamTemplate, ...]


class Comparison(Checked, frozen=True, kw_only=True):
    """One axis against a value; names compare by their text."""

    axis: str
    operator: str
    value: int | float | str

    def holds(self, cell: Mapping[str, CellValue]) -> bool:
        """Whether it is true of a cell."""
        return OPERATORS[self.operator](cell[self.axis].key, self.value)


class Reckoned(Checked, frozen=True, kw_only=True):
    """What is reckoned of axes against a value, both in their base unit."""

    formula: OpenAmount
    operator: str
    value: int | float

    def holds(self, cell: Mapping[str, CellValue]) -> bool:
        """Whether it is true of a cell."""
        return OPERATORS[self.operator](self.formula.value_in(cell).value, self.value)


class Junction(Checked, frozen=True, kw_only=True):
    """`and`, `or`, `not`."""

    operator: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]

    def holds(self, cell: Mapping[str, CellValue]) -> bool:
        """Whether it is true of a cell."""
        found = (part.holds(cell) for part in self.parts)
        if self.operator == "not":
            return not next(found)
        return all(found) if self.operator == "and" else any(found)


Condition = Comparison | Reckoned | Junction
RECKONED = 40
"""How many comparisons take as long as a formula."""


def comparisons(condition: Condition | None) -> int:
    """How much a condition takes to look at in a cell, in comparisons."""
    if isinstance(condition, Junction):
        return 1 + sum(map(comparisons, condition.parts))
    return RECKONED if isinstance(condition, Reckoned) else int(condition is not None)


class CellValue(Checked, frozen=True, kw_only=True):
    """One value of one axis.

    `text` is what the plan writes, `key` what conditions compare. `attributes` are set
    where the axis is a field of the workload, `workload` where it is the workload
    itself, and `quantity` where it is one, to be reckoned with or used by its name.
    """

    text: str
    key: int | float | str
    attributes: dict[str, Any] | None = None
    workload: WorkloadTemplate | None = None
    quantity: Quantity | None = None


class Axis(Checked, frozen=True, kw_only=True):
    """One dimension of the matrix; several names move together.

    A name such as `reader.qd` sets the field of one stream only.
    """

    names: tuple[str, ...]
    values: tuple[tuple[CellValue, ...], ...]


DEFAULT_WINDOW = 5
"""The rounds of SNIA's window."""


class SteadyRule(Checked, frozen=True, kw_only=True):
    """When a series of values counts as steady; by default as SNIA PTS says.

    Before `least_passes` are written nothing is judged: what is flat at first is
    the plateau of a drive that still has erased blocks.
    """

    metric: Metric
    window: int = DEFAULT_WINDOW
    range_percent: float = 20.0
    slope_percent: float = 10.0
    least_passes: float = 0.0


class Moment(Checked, frozen=True, kw_only=True):
    """`at 5s..110s`, since the first I/O of a run; drawn from the range."""

    earliest: Quantity
    latest: Quantity


class NamedEvent(Checked, frozen=True, kw_only=True):
    """`event "path A down" at 60s`: a command of the lab file, and when it is run."""

    name: str
    moment: Moment
    span: Span


class RunTemplate(Checked, frozen=True, kw_only=True):
    """`run …`. The first of `run`, `limit` and `passes` that is set ends it.

    With a `rule` it ends before when steady, which is judged `every` so often. Where
    the step has a `name`, its metrics have it in front.
    """

    workload: WorkloadTemplate
    override: StreamTemplate
    run: Amount | None = None
    limit: Amount | None = None
    passes: Amount | None = None
    warmup: Amount | None = None
    rule: SteadyRule | None = None
    every: Quantity | None = None
    cut: Moment | None = None
    events: tuple[NamedEvent, ...] = ()
    interval: Quantity | None = None
    name: str = ""
    text: str
    span: Span


class IdleTemplate(Checked, frozen=True, kw_only=True):
    """`idle …`."""

    pause: Amount
    text: str


class RepeatTemplate(Checked, frozen=True, kw_only=True):
    """`repeat N { … }`."""

    times: Amount
    steps: tuple[StepTemplate, ...]


StepTemplate = RunTemplate | IdleTemplate | RepeatTemplate


class PurgeStep(Checked, frozen=True, kw_only=True):
    """Make the target as new."""

    text: str = "purge"


class RestStep(Checked, frozen=True, kw_only=True):
    """Let the target rest."""

    pause_ns: int
    text: str


class WriteStep(Checked, frozen=True, kw_only=True):
    """Write until the first of what is set.

    With a `rule` it ends before when steady, which is judged each time that `every_ns`
    are over, or that `every_percent` of a pass are written. A shaped write whose
    `finds_spare` is set begins with the least: the write after it finds the rest.
    """

    workload: Workload
    passes: float | None = None
    run_ns: int | None = None
    rule: SteadyRule | None = None
    every_ns: int | None = None
    every_percent: float | None = None
    finds_spare: bool = False
    text: str


PrepareStep = PurgeStep | RestStep | WriteStep


class Precondition(Checked, frozen=True, kw_only=True):
    """A named state, as all the steps that lead to it."""

    name: str
    steps: tuple[PrepareStep, ...]


class After(Checked, frozen=True, kw_only=True):
    """Which state a test starts from, and before each change of what.

    With `then`, the state is reached once, and what is done again is `then`,
    whatever state the target is in.
    """

    precondition: Precondition
    then: Precondition | None = None
    before_each: str | None = None

    def shortened(self, profile: str) -> bool:
        """Whether a profile leaves out most of it: less than one pass is written."""
        writes = (s for s in self.precondition.steps if isinstance(s, WriteStep))
        return profile != FULL and sum(one.passes or 0.0 for one in writes) < 1


class Within(Checked, frozen=True, kw_only=True):
    """How well a cell's mean over rounds is to be known; then it is not repeated."""

    metric: Metric
    percent: float


class Rounds(Checked, frozen=True, kw_only=True):
    """Repeat the matrix until the tracked cell is steady, else until all are decided.

    A cell that is `within` is decided, and left out from then on.

    With `is_drawn`, each round has its cells in an order drawn by its number.
    """

    rule: SteadyRule | None
    when: Condition | None
    within: Within | None = None
    is_drawn: bool = False
    at_most: int
    text: str

    @property
    def window(self) -> int:
        """The number of last rounds that an undecided cell's figures are of."""
        return self.rule.window if self.rule else DEFAULT_WINDOW


class Demand(Checked, frozen=True, kw_only=True):
    """One metric against a limit, in the metric's unit."""

    metric: Metric
    operator: str
    limit: float
    text: str


Goal = Literal["highest", "lowest", "knee"]


class Seek(Checked, frozen=True, kw_only=True):
    """Which value of an axis is found, instead of varied.

    `lowest` and `highest` bound it; of a list `values` are all there are, in rising
    order. A knee is the smallest value that reaches `share_percent` of the highest
    throughput, and asks for nothing else. Without a `within_percent` whole numbers are
    found exactly. `text` is the seek as written.
    """

    goal: Goal
    axis: str
    kind: Kind
    lowest: CellValue
    highest: CellValue
    values: tuple[CellValue, ...] = ()
    where: tuple[Demand, ...] = ()
    share_percent: float = 95.0
    within_percent: float | None = None
    at_most: int | None = None
    confirm: Quantity | None = None
    text: str
    span: Span


class Expectation(Checked, frozen=True, kw_only=True):
    """One pass/fail line; the limit is in the metric's unit, or in percent.

    Percent are of the baseline, or of another metric of the same cell.
    """

    metric: Metric
    operator: str
    limit: float
    of_baseline: bool
    of_metric: Metric | None = None
    when: Condition | None
    text: str

    def applies(self, cell: Mapping[str, CellValue]) -> bool:
        """Whether it is expected of a cell."""
        return self.when is None or self.when.holds(cell)


class HeadlineLine(Checked, frozen=True, kw_only=True):
    """What a test is told and ranked by: a metric, in the cells that meet a condition.

    Of several cells it is the worst.
    """

    metric: Metric
    when: Condition | None
    text: str


class Chart(Checked, frozen=True, kw_only=True):
    """One chart line."""

    kind: str
    metrics: tuple[Metric, ...]
    by: tuple[str, ...]
    per: tuple[str, ...]
    when: Condition | None
    scales: tuple[str, ...]
    text: str


class Test(Checked, frozen=True, kw_only=True):
    """One test: its matrix, its steps and what must hold."""

    __test__ = False  # not one of pytest's

    title: str
    after: After | None = None
    axes: tuple[Axis, ...] = ()
    steps: tuple[StepTemplate, ...] = ()
    skip: tuple[Condition, ...] = ()
    rounds: Rounds | None = None
    seek: Seek | None = None
    expectations: tuple[Expectation, ...] = ()
    headlines: tuple[HeadlineLine, ...] = ()
    charts: tuple[Chart, ...] = ()
    time_scale: float = 1.0
    text: str = ""

    @property
    def phases(self) -> set[str]:
        """The phases and stretches that its metrics are of."""
        return {one.phase for one in self.metrics if one.phase}

    @property
    def by_interval(self) -> bool:
        """Whether any metric is made of the counts of each interval."""
        return any(one.by_interval for one in self.metrics)

    @property
    def metrics(self) -> list[Metric]:
        """All that is judged, told, drawn or sought."""
        metrics = [one.metric for one in self.expectations]
        metrics += [one.metric for one in self.headlines]
        metrics += [one.of_metric for one in self.expectations if one.of_metric]
        metrics += [metric for one in self.charts for metric in one.metrics]
        metrics += [one.metric for one in (self.seek.where if self.seek else ())]
        return metrics


class CheckedPlan(Checked, frozen=True, kw_only=True):
    """A whole plan; `parameters` are as they were used, overrides included.

    `profile` is the set of values that was picked, "full" the plan's own.
    `on_failure` is None where the plan leaves it to the lab. `on_unsteady` says whether
    a steady state that is not reached makes the session's exit code 1, and
    `on_nothing_found` whether a seek without a value does. `accepted` are the kinds of
    lints that are meant so. `files` are the texts of the files that it uses, by the
    names that it uses them by.
    """

    title: str = ""
    file: str = ""
    parameters: dict[str, str] = {}
    profile: str = FULL
    on_failure: Literal["stop", "continue"] | None = None
    on_unsteady: Literal["fail", "continue"] = "fail"
    on_nothing_found: Literal["fail", "continue"] = "fail"
    accepted: tuple[str, ...] = ()
    tests: tuple[Test, ...]
    time_scale: float = 1.0
    text: str = ""
    files: dict[str, str] = {}
