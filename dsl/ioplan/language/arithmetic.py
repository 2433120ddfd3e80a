"""Arithmetic on quantities: units are multiplied and divided as the numbers are."""

from __future__ import annotations

from ioplan.language.quantity import (
    KIND_NAMES,
    MOST_DECIMALS,
    MOST_VALUE,
    SECTOR_BYTES,
    Kind,
    Quantity,
    QuantityError,
    make,
)

DIMENSIONS: dict[Kind, tuple[int, int]] = {
    "number": (0, 0),
    "size": (1, 0),
    "time": (0, 1),
    "iops": (0, -1),
    "bandwidth": (1, -1),
}
"""Powers of bytes and seconds; I/Os are a number."""
BASE: dict[Kind, float] = {"time": 1e-9}
"""The unit in which a kind is kept, in units of its dimension."""
WHOLE = ("size", "time")
WORDS = {"+": "added to", "-": "taken from", "*": "multiplied with", "/": "divided by"}


def reckoned(operator: str, left: Quantity, right: Quantity) -> Quantity:
    """What `+ - * /` makes of two quantities. Raises QuantityError."""
    if operator in "+-":
        return _sum(operator, left, right)
    if operator == "/" and not right.value:
        raise QuantityError(f"{left.text} / {right.text} divides by 0")
    if scaled := _scaled(operator, left, right):
        return scaled
    if not {left.kind, right.kind} <= DIMENSIONS.keys():
        raise _misfit(operator, left, right)
    sign = 1 if operator == "*" else -1
    pairs = zip(DIMENSIONS[left.kind], DIMENSIONS[right.kind], strict=True)
    powers = tuple(a + sign * b for a, b in pairs)
    for kind, dimension in DIMENSIONS.items():
        if dimension == powers:
            return _made(kind, _in_units(operator, left, right) / BASE.get(kind, 1))
    raise _misfit(operator, left, right)


def _sum(operator: str, left: Quantity, right: Quantity) -> Quantity:
    if left.kind != right.kind or left.kind == "mix":
        raise _misfit(operator, left, right)
    value = left.value + (right.value if operator == "+" else -right.value)
    if value < 0:
        raise QuantityError(f"{left.text} - {right.text} is less than 0")
    return _made(left.kind, value)


def _scaled(operator: str, left: Quantity, right: Quantity) -> Quantity | None:
    """Part of something, or so many times as much; None where units meet."""
    kinds = {left.kind, right.kind}
    if "mix" in kinds:
        return None
    if operator == "*" and "share" in kinds:
        share, other = (left, right) if left.kind == "share" else (right, left)
        return _part(share, other)
    if operator == "*" and kinds == {"number", "passes"}:
        return _made("passes", left.value * right.value)
    if operator == "/" and left.kind == right.kind:
        return _made("number", left.value / right.value)
    if operator == "/" and right.kind == "number" and left.kind in ("share", "passes"):
        return _made(left.kind, left.value / right.value)
    return None


def _part(share: Quantity, whole: Quantity) -> Quantity:
    value = share.value * whole.value / 100
    return _made(whole.kind, round(value) if whole.kind in WHOLE else value)


def share_of(share: Quantity, whole: Quantity) -> Quantity:
    """A share of what can be counted or addressed, as near as it comes to it."""
    value = share.value * whole.value / 100
    grain = {"number": 1, "size": SECTOR_BYTES}.get(whole.kind)
    if grain:
        value = max(1, round(value / grain)) * grain
    return _made(whole.kind, round(value) if whole.kind in WHOLE else value)


def _in_units(operator: str, left: Quantity, right: Quantity) -> float:
    one, other = (q.value * BASE.get(q.kind, 1) for q in (left, right))
    return one * other if operator == "*" else one / other


def _made(kind: Kind, value: float) -> Quantity:
    """Without the noise of binary fractions; times are rounded to nanoseconds."""
    value = round(value) if kind == "time" else round(value, MOST_DECIMALS)
    if value > MOST_VALUE:
        raise QuantityError("the result is too large")
    if kind == "size" and value != int(value):
        raise QuantityError(f"the result is {value:g} B, not a whole number")
    return make(kind, int(value) if value == int(value) else value)


def _misfit(operator: str, left: Quantity, right: Quantity) -> QuantityError:
    first, second = (left, right) if operator in "*/" else (right, left)
    return QuantityError(
        f"{KIND_NAMES[first.kind]} cannot be {WORDS[operator]} "
        f"{KIND_NAMES[second.kind]}",
        f"here {left.text} {operator} {right.text}",
    )
