"""What the records of a seek say: of each probe how it was decided, and what was found.

A finding is a record of its own, in the cell of its test without the sought axis. The
figures in it are those of the run that confirmed it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioplan.core.model import Model
from ioplan.language.clause_table import BY_WORD

SHORT = {"qd": "QD"}


class DemandResult(Model):
    """How one part of a seek's condition was decided."""

    demand: str = Field(description="as the plan writes it")
    decision: Literal["yes", "no", "undecided"]
    method: str = Field(description="the statistical test, or a plain comparison")
    figure: float | None = Field(description="what was seen of what the test is about")
    limit: float = Field(description="of the figure")
    p_value: float | None = Field(
        description="the chance of being wrong, adjusted for having looked often; "
        "none of a plain "
        "comparison"
    )


class Probed(Model):
    """What a run of a seek was for, and how it was decided."""

    axis: str
    value: float = Field(description="of the axis, in its base unit")
    unit: str = Field(description="of the value", default="")
    phase: Literal["bracket", "bisect", "confirm"]
    number: int = Field(description="of the probe in its cell, from 1")
    decision: Literal["yes", "no", "undecided", "measured", ""] = Field(
        description="whether the condition holds; of a knee's run only the "
        "throughput counts, and "
        "it is empty of one that did not end well",
        default="",
    )
    p_value: float | None = Field(
        description="the chance of being wrong, adjusted for looks and parts",
        default=None,
    )
    demands: tuple[DemandResult, ...] = Field(
        description="the parts of the condition, and what an open loop is held to",
        default=(),
    )


class Found(Model):
    """What a seek found in a cell."""

    seek: str = Field(description="the line of the plan")
    goal: Literal["highest", "lowest", "knee"]
    axis: str
    kind: Literal[
        "size", "time", "share", "mix", "iops", "bandwidth", "passes", "number"
    ] = Field(description="of the value")
    value: float | None = Field(description="none if no value of the range holds")
    unit: str = Field(description="of the value", default="")
    text: str = Field(description="the value as the plan would write it", default="")
    yes_at: float | None = Field(
        description="the last value at which the condition held"
    )
    no_at: float | None = Field(
        description="the nearest value beyond at which it did not; none if there is "
        "none as far as "
        "the range goes"
    )
    no_text: str = Field(
        description="that value as the plan would write it", default=""
    )
    censored: bool = Field(
        description="the value is the end of the range: the truth may lie beyond",
        default=False,
    )
    confirmed: bool = Field(description="whether a long run held, too")
    monotone: bool = Field(description="no value beyond a no held")
    low: float | None = Field(
        description="of a knee: the lower end of its 95 % interval", default=None
    )
    high: float | None = Field(
        description="its upper end; none where noise hides it", default=None
    )
    interval: str = Field(description="both, as the plan would write it", default="")
    confidence_percent: float = Field(description="of each decision")
    undecided: int = Field(description="probes that time ended", default=0)
    probes: int
    bytes: int = Field(description="moved by all probes")
    run_s: float = Field(description="measured time of all probes")

    @property
    def beyond(self) -> str:
        """Where the truth may lie: `≥` or `≤` of a value at the end of the range."""
        return ("≤" if self.goal == "lowest" else "≥") if self.censored else ""

    @property
    def nothing(self) -> str:
        """Why there is no value; empty where there is one."""
        if self.value is not None:
            return ""
        field = self.axis.rpartition(".")[2]
        title = BY_WORD[field].title if field in BY_WORD else ""
        short, when = SHORT.get(field, field), "already" * (self.goal == "highest")
        end = f"{short} {self.no_text} {when or 'still'} fails"
        why = f" ({end})" if self.no_text else ""
        return f"no {title or field} met the limit{why}"
