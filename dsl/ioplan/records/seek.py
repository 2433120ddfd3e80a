"""What the records of a seek say: of each probe how it was decided, and what was found.

A finding is a record of its own, in the cell of its test without the sought axis. The
figures in it are those of the run that confirmed it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioplan.core.model import Model, about
from ioplan.language.clause_table import BY_WORD


class DemandResult(Model):
    """How one part of a seek's condition was decided."""

    demand: str = Field(description="as the plan writes it")
    decision: Literal["yes", "no", "undecided"]
    method: str = Field(description="the statistical test, or a plain comparison")
    figure: float | None = Field(description="what was seen of what the test is about")
    limit: float = Field(description="of the figure")
    p_value: float | None = Field(
        description="the chance of being wrong, adjusted for having looked often; "
        "none of a plain comparison"
    )


class Probed(Model):
    """What a run of a seek was for, and how it was decided."""

    axis: str
    value: float = Field(description="of the axis, in its base unit")
    unit: str = about("of the value", "")
    phase: Literal["bracket", "bisect", "confirm"]
    number: int = Field(description="of the probe in its cell, from 1")
    decision: Literal["yes", "no", "undecided", "measured", ""] = about(
        "whether the condition holds; of a knee's run only the throughput counts, and "
        "it is empty of one that did not end well",
        "",
    )
    p_value: float | None = about(
        "the chance of being wrong, adjusted for looks and parts", None
    )
    demands: tuple[DemandResult, ...] = about(
        "the parts of the condition, and what an open loop is held to", ()
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
    unit: str = about("of the value", "")
    text: str = about("the value as the plan would write it", "")
    yes_at: float | None = Field(description="the last at which the condition held")
    no_at: float | None = Field(
        description="the nearest value beyond at which it did not; none if there is "
        "none as far as the range goes"
    )
    no_text: str = about("that value as the plan would write it", "")
    censored: bool = about(
        "the value is the end of the range: the truth may lie beyond", False
    )
    confirmed: bool = Field(description="whether a long run held, too")
    monotone: bool = Field(description="no value beyond a no held")
    low: float | None = about("of a knee: the lower end of its 95 % interval", None)
    high: float | None = about("its upper end; none where noise hides it", None)
    interval: str = about("both, as the plan would write it", "")
    confidence_percent: float = Field(description="of each decision")
    undecided: int = about("probes that time ended", 0)
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
        short, when = field.replace("qd", "QD"), "already" * (self.goal == "highest")
        end = f"{short} {self.no_text} {when or 'still'} fails"
        why = f" ({end})" if self.no_text else ""
        return f"no {title or field} met the limit{why}"
