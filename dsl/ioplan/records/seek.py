"""What the records of a seek say: of each probe how it was decided, and what was found.

A finding is a record of its own, in the cell of its test without the sought axis. The
figures in it are those of the run that confirmed it.
"""

from __future__ import annotations

from typing import Literal

from ioplan.core.model import Figures, described


class DemandResult(Figures):
    """How one part of a seek's condition was decided."""

    demand: str = described("as the plan writes it")
    decision: Literal["yes", "no", "undecided"]
    method: str = described("the statistical test, or a plain comparison")
    figure: float | None = described("what was seen of what the test is about")
    limit: float = described("of the figure")
    p_value: float | None = described(
        "the chance of being wrong, adjusted for having looked often; none of a plain "
        "comparison"
    )


class Probed(Figures):
    """What a run of a seek was for, and how it was decided."""

    axis: str
    value: float = described("of the axis, in its base unit")
    unit: str = described("of the value", default="")
    phase: Literal["bracket", "bisect", "confirm"]
    number: int = described("of the probe in its cell, from 1")
    decision: Literal["yes", "no", "undecided", "measured", ""] = described(
        "whether the condition holds; of a knee's run only the throughput counts, and "
        "it is empty of one that did not end well",
        default="",
    )
    p_value: float | None = described(
        "the chance of being wrong, adjusted for looks and parts", default=None
    )
    demands: tuple[DemandResult, ...] = described(
        "the parts of the condition, and what an open loop is held to", default=()
    )


class ScalabilityFit(Figures):
    """Gunther's universal scalability law over the probes of a knee: information.

    The finding does not rest on it. The interval of the peak is at 95 %.
    """

    gamma: float = described("throughput at 1, without contention")
    alpha: float = described("contention")
    beta: float = described("coherency: what makes throughput fall again")
    peak: float | None = described(
        "where throughput is highest; none if it never falls"
    )
    peak_low: float | None
    peak_high: float | None


class Found(Figures):
    """What a seek found in a cell."""

    seek: str = described("the line of the plan")
    goal: Literal["highest", "lowest", "knee"]
    axis: str
    kind: Literal[
        "size", "time", "share", "mix", "iops", "bandwidth", "passes", "number"
    ] = described("of the value")
    value: float | None = described("none if no value of the range holds")
    unit: str = described("of the value", default="")
    text: str = described("the value as the plan would write it", default="")
    yes_at: float | None = described("the last value at which the condition held")
    no_at: float | None = described(
        "the nearest value beyond at which it did not; none if there is none as far as "
        "the range goes"
    )
    no_text: str = described("that value as the plan would write it", default="")
    confirmed: bool = described("whether a long run held, too")
    monotone: bool = described("no value beyond a no held")
    fit: ScalabilityFit | None = described("of a knee's probes", default=None)
    confidence_percent: float = described("of each decision")
    undecided: int = described("probes that time ended", default=0)
    probes: int
    bytes: int = described("moved by all probes")
    run_s: float = described("measured time of all probes")

    @property
    def nothing(self) -> str:
        """Why there is no value; empty where there is one."""
        return f"no {self.axis} held" if self.value is None else ""
