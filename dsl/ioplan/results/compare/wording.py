"""A comparison in words: what every output of it has in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ioplan.core.text import counted
from ioplan.core.units import digits, metric_text, percent_text, ratio_text
from ioplan.records.session import Session
from ioplan.results.compare.call import NOTHING_TO_LEARN_FROM
from ioplan.results.compare.comparison import (
    OTHERWISE,
    RARE,
    VERDICTS,
    AllCells,
    Comparison,
    Judged,
    NoiseSummary,
    Row,
    SideSummary,
)
from ioplan.results.compare.estimate import ASSUMED_PERCENT, MOST
from ioplan.results.compare.rows import place_text

# In which order the sessions of two sides ran, and what they count for.
#
# Where all of one side ran before all of the other, whatever drifted meanwhile looks
# like a change, and no number of sessions helps: a stretch of sessions of one side
# counts as one. Of sides that alternate, ABAB, each session counts.

MOST_SHOWN = 5


def units(base: Sequence[Session], new: Sequence[Session]) -> tuple[int, int]:
    """How many sessions of each side count."""
    starts = [(one.id, "base") for one in base]
    starts += [(one.id, "new") for one in new]
    stretches = [side for side, _ in groupby(side for _, side in sorted(starts))]
    return stretches.count("base"), stretches.count("new")


def alternating(each: int) -> str:
    """The order in which so many sessions a side are run: ABABAB."""
    return "AB" * min(each, MOST_SHOWN) + ("…" if each > MOST_SHOWN else "")


MAX_NAMED = 8


def cell_text(row: Row) -> str:
    """The cell as the plan writes it, behind the name of its step."""
    return place_text(row.step, row.cell)


def change_text(ratio: float | None, drives: bool) -> str:
    """A ratio as a change: +12.3 %; of two drives as what it is: 1.12x."""
    if ratio is None:
        return "–"
    return ratio_text(ratio) if drives else f"{_signed(ratio)} %"


def interval_text(row: Judged, drives: bool) -> str:
    """The interval of the change, both ends in percent, or of the ratio."""
    if row.low is None or row.high is None:
        return "–"
    shown = ratio_text if drives else _signed
    return f"{shown(row.low)} … {shown(row.high)}"


def _signed(ratio: float) -> str:
    change = (ratio - 1) * 100
    if abs(change) < 0.05:
        return "0.0"
    text = f"{change:+.1f}" if abs(change) < 99.95 else digits(change)
    return text if text[0] in "+-" else f"+{text}"


def base_text(row: Row) -> str:
    """The base's figure."""
    return metric_text(row.base, row.unit)


def new_text(row: Row) -> str:
    """The new figure."""
    return metric_text(row.new, row.unit)


def row_text(row: Row, drives: bool) -> str:
    """A row as one line."""
    figures = f"{row.metric} {base_text(row)} -> {new_text(row)}"
    change = f", {change_text(row.ratio, drives)}" if row.ratio else ""
    interval = f" ({interval_text(row, drives)})" if row.low else ""
    why = f"; {row.why}" if row.why else ""
    return f"{row.verdict}: {figures}{change}{interval}{why}"


def all_cells_text(one: AllCells, drives: bool) -> str:
    """What all cells have in common: `iops 9.8 % lower over 20 cells, ± 1.1`."""
    if one.ratio is None or one.low is None or one.high is None:
        return ""
    way = "lower" if one.ratio < 1 else "higher"
    if drives:
        shown = f"{ratio_text(one.ratio)} over {one.cells} cells"
        error = f"{ratio_text(one.low)} to {ratio_text(one.high)}"
    else:
        shown = f"{abs(one.ratio - 1) * 100:.1f} % {way} over {one.cells} cells"
        error = f"± {(one.high - one.low) * 50:.1f}"
    agree = f"{one.same_way} of {one.cells} {way}"
    why = f"; {one.why}" if one.why else ""
    return f"{one.metric} {shown}, {error} ({agree}){why}"


def side_text(name: str, side: SideSummary) -> str:
    """One side: what ran on what."""
    return (
        f"{name} {', '.join(side.sessions)}: {side.plan} on {side.target}, "
        f"{side.backend}"
    )


def summary_text(found: Comparison) -> str:
    """How many rows have which verdict; of drives, only those that there are."""
    drives = found.subject == "drives"
    words = [
        word for word in VERDICTS if found.count(word) or not (drives or word in RARE)
    ]
    counts = ", ".join(f"{found.count(word)} {word}" for word in words)
    if found.missing:
        counts += f", {counted(len(found.missing), 'cell')} missing"
    if drives and not found.count("equal"):
        return counts
    return f"{counts}; smaller than {found.threshold_percent:g} % counts as equal"


def notes(found: Comparison) -> Iterator[str]:
    """What a reader has to know besides the rows, each once."""
    yield from noise_texts(found)
    yield from _open(found)
    yield from _stretches(found)
    for row in _failed(found):
        yield f"{row.test} {cell_text(row)}: {row.why}"
    remarks = Counter(remark for row in found.rows for remark in row.remarks)
    for remark, count in remarks.items():
        yield f"{count} rows: {remark}"
    yield from _first_few("missing:", found.missing)
    if found.base.finished:
        yield from _first_few("BASE has no", found.only_new)


def noise_texts(found: Comparison) -> Iterator[str]:
    """What sessions differ by, and who says so; of drives, what those differ by."""
    for source in dict.fromkeys(one.source for one in found.noise):
        same = [one for one in found.noise if one.source == source]
        if sizes := _sizes(same, "session_percent"):
            yield f"sessions differ by {sizes}: {source}"
        elif sizes := _sizes(same, "run_percent"):
            yield f"the runs of a session differ by {sizes}, sessions by more"
    drives = _sizes(found.noise, "drive_percent")
    if drives and found.subject == "drives":
        yield f"drives of one model differ by {drives}"


def _sizes(found: Iterable[NoiseSummary], name: str) -> str:
    known = [(one.metric, getattr(one, name)) for one in found]
    return ", ".join(
        f"{percent_text(size)} ({metric})" for metric, size in known if size
    )


OPEN = ("suspected", "undecided", "ratio")


def _open(found: Comparison) -> Iterator[str]:
    """What is not decided, why, and what would decide it."""
    rows = [row for row in found.rows if row.verdict in OPEN]
    for why in dict.fromkeys(row.why for row in rows):
        same = [row for row in rows if row.why == why]
        reason = f": {why}" if why else ""
        yield f"{len(same)} {same[0].verdict}{reason}{_deciding(same)}"


def _deciding(rows: Sequence[Row]) -> str:
    """How many sessions a side; for half of several rows."""
    if rows[0].verdict == "suspected" or rows[0].why == OTHERWISE:
        return ""
    if not any(row.ratio for row in rows):
        return ""
    needed = sorted(row.sessions_needed or MOST + 1 for row in rows)
    each = needed[(len(needed) - 1) // 2]
    what = "it" if len(rows) == 1 else "half of them"
    if rows[0].why == NOTHING_TO_LEARN_FROM:
        what += f" (if sessions differ by {ASSUMED_PERCENT:g} %)"
    if each > MOST:
        return f"; more than {MOST} sessions a side would decide {what}"
    return f"; {each} sessions a side, {alternating(each)}, would decide {what}"


def _stretches(found: Comparison) -> Iterator[str]:
    """Sides that ran one after the other count for less than they have."""
    pairs = [(found.base, "base_sessions"), (found.new, "new_sessions")]
    counted = [
        max((getattr(r, name) for r in found.rows), default=0) for _, name in pairs
    ]
    had = [len(side.sessions) for side, _ in pairs]
    if counted < had:
        yield (
            f"{had[0]} + {had[1]} sessions count as {counted[0]} + {counted[1]}: those "
            "of one side that ran in a row may all have drifted; alternate the sides, "
            f"{alternating(max(had))}"
        )


def _failed(found: Comparison) -> list[Row]:
    """A row for each cell that failed, not one for each metric."""
    failed = {
        (row.test, cell_text(row)): row
        for row in found.rows
        if row.why and row.verdict == "worse"
    }
    return list(failed.values())


def _first_few(what: str, cells: tuple[str, ...]) -> Iterator[str]:
    named = list(dict.fromkeys(cells))
    for cell in named[:MAX_NAMED]:
        yield f"{what} {cell}"
    if len(named) > MAX_NAMED:
        yield f"{what} {len(named) - MAX_NAMED} more"
