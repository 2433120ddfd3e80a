"""Of what kind the facts are that ioplan knows by name, in a record's free parts.

A model checks the rest. These parts are what a backend, a host or a call had to say,
and reports rely on the names that ioplan itself gives. What counts or measures is not
below 0, which no model says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT, WHOLE, NUMBER = (str,), (int,), (int, float)
PLAIN = (str, int, float, bool, type(None))
Kinds = Mapping[str, tuple[type, ...]]

TARGET: Kinds = {
    **dict.fromkeys(("path", "kind"), TEXT),
    **dict.fromkeys(("capacity_bytes", "block_bytes"), WHOLE),
    "identity": (dict,),
}
HOST: Kinds = {
    **dict.fromkeys(("hostname", "kernel", "machine", "os", "cpu", "python"), TEXT),
    **dict.fromkeys(("cpu_driver", "governor"), (str, type(None))),
    **dict.fromkeys(("cpus", "memory_bytes"), (int, type(None))),
    **dict.fromkeys(("warnings", "not_measured", "cpus_allowed"), (list,)),
    **dict.fromkeys(("target", "mitigations", "numa_nodes"), (dict,)),
}


def check_shape(facts: Mapping[str, Any], kinds: Kinds, what: str) -> None:
    """Raises ValueError for a known name with a value of another kind."""
    for name, value in facts.items():
        right = isinstance(value, kinds.get(name, (object,)))
        if isinstance(value, bool) and bool not in kinds.get(name, (bool,)):
            right = False
        if not right or not _is_flat(value, name in kinds):
            raise ValueError(f"{what} has {name[:40]!r}: {str(value)[:40]!r}")
        if isinstance(value, int | float) and value < 0 and name in kinds:
            raise ValueError(f"{what} has {name[:40]!r} below 0")


def _is_flat(value: Any, known: bool) -> bool:
    """Whether what a known name holds is plain, or one level of plain values."""
    if not known or isinstance(value, PLAIN):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return all(isinstance(one, PLAIN) or _is_names(one) for one in inner)


def _is_names(value: Any) -> bool:
    """A level deeper, as of the interrupts of a target."""
    return isinstance(value, dict) and all(isinstance(v, PLAIN) for v in value.values())


COUNTED = (
    "seq",
    "run_s",
    "streams",
    "directions",
    "total",
    "cpu",
    "cpu_percent",
    "asked",
)
"""The parts of a record's JSON in which no number is below 0."""


def check_counts(raw: Mapping[str, Any]) -> None:
    """Raises ValueError for a number below 0 in what counts and measures."""
    for name in COUNTED:
        _check_from_0(raw.get(name), name)


def _check_from_0(value: Any, name: str) -> None:
    if isinstance(value, dict):
        for inner, one in value.items():
            _check_from_0(one, inner)
    elif isinstance(value, list):
        for one in value:
            _check_from_0(one, name)
    elif isinstance(value, int | float) and value < 0:
        raise ValueError(f"its {name[:40]} is {value}, below 0")
