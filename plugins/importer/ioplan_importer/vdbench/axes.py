"""Lists of a run definition as axes, the first the outermost loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.language.quantity import make
from ioplan_importer.vdbench.numbers import bytes_of
from ioplan_importer.vdbench.parameters import AXES, Definition

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
