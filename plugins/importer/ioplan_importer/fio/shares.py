"""Lists of shares: `bssplit`, `bsrange`, and the distribution of random offsets."""

from __future__ import annotations

from collections import defaultdict

from ioplan.language.quantity import make
from ioplan_importer.fio.numbers import NumberFault, bytes_of

Shares = tuple[tuple[int, float], ...]
"""Bytes and percent."""
MOST_RANGE = 1024
DEFAULTS = {"zipf": 1.1, "pareto": 0.2}
"""What fio takes where a distribution says no number."""


def size_shares(text: str, kb_base: int) -> Shares:
    """`4k/60:64k/40`; entries without a share divide the rest. Raises NumberFault."""
    pairs = [entry.partition("/")[::2] for entry in text.split(":") if entry.strip()]
    sizes = [bytes_of(size, kb_base) for size, _ in pairs]
    said = [_percent(share) if share.strip() else None for _, share in pairs]
    rest = 100 - sum(share or 0 for share in said)
    open_entries = said.count(None)
    if rest < 0:
        raise NumberFault(f"the shares of {text!r} are more than 100 %")
    each = rest // open_entries if open_entries else 0
    shares = [each if share is None else share for share in said]
    # what is missing goes to the largest, which fio looks at last
    largest = max(range(len(shares)), key=lambda i: (shares[i], i))
    shares[largest] += 100 - sum(shares)
    return _added_up(zip(sizes, shares, strict=True))


def _percent(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise NumberFault(f"{text!r} is no share") from None


def _added_up(pairs: object) -> Shares:
    found: dict[int, float] = {}
    for size_bytes, share in pairs:  # type: ignore[attr-defined]
        found[size_bytes] = found.get(size_bytes, 0) + share
    return tuple((size, float(share)) for size, share in found.items() if share)


def range_sizes(text: str, kb_base: int) -> Shares:
    """`4k-64k`: the multiples of the smaller one, reversed ones are swapped.

    fio draws evenly from the smallest to the sum of both, rounds down to a multiple
    and cuts at the largest (get_next_buflen in io_u.c): equal shares where the largest
    is a multiple, else the last two differ. Raises NumberFault.
    """
    low, dash, high = text.partition("-")
    if not dash:
        raise NumberFault(f"{text!r} is no range such as 4k-64k")
    first, last = sorted((bytes_of(low, kb_base), bytes_of(high, kb_base)))
    if first <= 0 or last // first > MOST_RANGE:
        raise NumberFault(
            f"{text!r} is no range of at most {MOST_RANGE} multiples of its start"
        )
    found: defaultdict[int, int] = defaultdict(int)
    for drawn in range(first, first + last, first):
        found[min(drawn, last)] += min(first, first + last - drawn)
    shares = [round(100 * part / last, 9) for part in found.values()]
    shares[-1] = round(100 - sum(shares[:-1]), 9)
    return tuple(zip(found, shares, strict=True))


def distribution(text: str) -> str | None:
    """`zipf:1.2`, `pareto:0.2`, `normal:10`, `zoned:50/5:…` as a clause, or None."""
    kind, _, value = text.partition(":")
    try:
        if kind in DEFAULTS:
            return f"{kind} {float(value or DEFAULTS[kind]):g}"
        if kind in ("normal", "gauss"):
            return f"normal {float(value):g}%" if value else None
        return _zones(value) if kind == "zoned" else None
    except ValueError:
        return None


def _zones(text: str) -> str | None:
    """Shares of the I/Os and of the space; missing ones divide the rest."""
    pairs = [entry.partition("/")[::2] for entry in text.split(":")]
    columns = [_filled([pair[i] for pair in pairs]) for i in range(2)]
    if any(sum(column) != 100 for column in columns):
        return None
    texts = (
        f"{make('share', ios).text} in {make('share', space).text}"
        for ios, space in zip(*columns, strict=True)
    )
    return f"hotspots {{ {', '.join(texts)} }}"


def _filled(texts: list[str]) -> list[int]:
    said = [int(text) if text.strip() else None for text in texts]
    rest, missing = 100 - sum(one or 0 for one in said), said.count(None)
    return [rest // missing if one is None else one for one in said]
