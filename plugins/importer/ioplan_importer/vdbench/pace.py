"""How fast a run definition has I/Os issued: `iorate`, `curve` and `skew`.

A curve is vdbench's own seek: one run as fast as I/O completes, and then runs at shares
of what it reached. A plan says it with a test of its own and `rate load of "TITLE"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ioplan.language import make
from ioplan_importer.findings import Findings
from ioplan_importer.vdbench.parameters import (
    AXES,
    NONE,
    Definition,
    bytes_of,
    in_units,
)

# Lists of a run definition as axes, the first the outermost loop.

Axes = tuple[tuple[str, tuple[str, ...]], ...]
"""Each axis with its values as they are written."""
STEPS = re.compile(r"(\d+[kmgt]?)-(\d+[kmgt]?)", re.IGNORECASE)


def axes_of(run: Definition) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lists of more than one value, in the order of the file."""
    for name, setting in run.settings.items():
        if name in AXES and len(setting.listed) > 1:
            yield AXES[name], axis_values(AXES[name], setting.listed)


def axis_values(axis: str, listed: list[str]) -> tuple[str, ...]:
    """`(1-64,d)` doubles and `(0-100,10)` has steps; else the values of a list."""
    steps = STEPS.fullmatch(listed[0])
    if not steps or len(listed) != 2:
        return tuple(_axis_value(axis, text) for text in listed)
    low, high = (_axis_value(axis, text) for text in steps.groups())
    if listed[1].lower() == "d":
        return (f"{low}..{high} doubling",)
    return (f"{low}..{high} step {_axis_value(axis, listed[1])}",)


def _axis_value(axis: str, text: str) -> str:
    if axis == "size":
        return make("size", bytes_of(text)).text
    return f"{text}%" if axis == "read" else text


def steps_of(listed: list[str]) -> list[str]:
    """`(1000-5000,1000)` as its values; a list as it is."""
    steps = STEPS.fullmatch(listed[0])
    if not steps or len(listed) != 2 or not listed[1].isdigit():
        return listed
    low, high = (int(text) for text in steps.groups())
    return [str(one) for one in range(low, high + 1, max(1, int(listed[1])))]


ARRIVALS = ("exponential", "deterministic")
LOAD = "load"
"""The param of a curve: its share of the highest rate."""
CURVE = ("10", "50", "70", "80", "90", "100")
"""vdbench's own points, in percent."""


class Pace(Struct, frozen=True):
    """The rate of a run in iops, or its axis, or the points of a curve."""

    iops: float = 0
    poisson: bool = False
    maximum: str = ""
    axes: Axes = ()

    @property
    def arrivals(self) -> str:
        """What stands behind a rate."""
        return " poisson" if self.poisson else ""

    @property
    def override(self) -> str:
        """What the run of a curve says: findings of other tests are known in runs."""
        text = f'rate {LOAD} of "{self.maximum}"{self.arrivals}'
        return text if self.maximum else ""

    def clause(self, share: float = 1) -> str:
        """What a stream says that has this share of the rate."""
        return f"rate {_iops(self.iops * share)}{self.arrivals}" if self.iops else ""


def pace_of(run: Definition, findings: Findings) -> Pace:
    """The pace of a run, `iorate=max` if it says none."""
    setting = run.settings.get("iorate")
    texts = setting.listed if setting else ["max"]
    poisson = _is_poisson(run, findings)
    if "curve" in run.settings and texts[0].lower() != "curve":
        findings.note(
            "curve does nothing without iorate=curve", run.settings["curve"].span
        )
    if texts[0].lower() == "curve":
        return Pace(poisson=poisson, maximum=f"{run.name}, maximum", axes=_curve(run))
    texts = steps_of(texts)
    rates = [float(text) if _is_number(text) else 0 for text in texts]
    odd = [text for text in texts if not _is_number(text) and text.lower() != "max"]
    if odd and setting:
        findings.error(
            f"iorate={odd[0]} is no number of I/Os per second, and is left out",
            setting.span,
        )
    if not all(rates) and len(rates) > 1 and setting and not odd:
        findings.loss(
            "of the rates, max is left out: an axis of rates has numbers only",
            setting.span,
            "write a second test without a rate",
        )
    rates = [rate for rate in rates if rate]
    if len(rates) < 2:
        return Pace(iops=rates[0] if rates else 0, poisson=poisson)
    ending = " poisson" if poisson else ""
    return Pace(axes=(("rate", tuple(f"{_iops(rate)}{ending}" for rate in rates)),))


def shares_of(
    run: Definition, workloads: list[Definition], pace: Pace, findings: Findings
) -> list[float]:
    """How much of the run's rate each workload has; without `skew`, of what is left."""
    skews = [one.number("skew", 0, findings) for one in workloads]
    if len(workloads) == 1:
        return [1]
    if not pace.iops:
        if pace.axes:
            findings.loss(
                f"{run.settings['iorate'].span.text} of several workloads is left out: "
                f"each runs as fast as its I/O completes",
                run.settings["iorate"].span,
                "write a test for each rate, with the share of each stream",
            )
        if any(skews):
            findings.loss(
                "skew is left out: without a rate each stream runs as fast as its I/O "
                "completes",
                run.span,
                "give each stream a rate of its own",
            )
        return [0] * len(workloads)
    rest = max(0, 100 - sum(skews)) / max(1, skews.count(0))
    return [(skew or rest) / 100 for skew in skews]


def _is_number(text: str) -> bool:
    return in_units(text, NONE) is not None


def _is_poisson(run: Definition, findings: Findings) -> bool:
    """Whether I/Os of a rate come at random; told where they come in another way."""
    words, known = _arrivals(run)
    if len(words) > 1 or not known:
        setting = run.settings["distribution"]
        findings.loss(
            f"distribution={setting.value} is left out: I/Os of a rate are evenly "
            f"spaced, or come at random (poisson)",
            setting.span,
        )
    return is_exponential(run)


def is_exponential(run: Definition) -> bool:
    """Whether the gaps between I/Os of a rate are."""
    return _arrivals(run)[1][:1] == ["exponential"]


def _arrivals(run: Definition) -> tuple[list[str], list[str]]:
    """The words of its `distribution`, and which of those known they may mean."""
    given = run.settings.get("distribution")
    words = [*given.listed] if given else []
    kind = words[0].lower() if words else "exponential"
    return words, [one for one in ARRIVALS if one.startswith(kind)]


def _curve(run: Definition) -> Axes:
    setting = run.settings.get("curve")
    return ((LOAD, axis_values("read", setting.listed if setting else list(CURVE))),)


def _iops(rate: float) -> str:
    return make("iops", round(rate, 3)).text
