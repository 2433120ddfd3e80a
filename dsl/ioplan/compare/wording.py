"""A comparison in words: what every output of it has in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ioplan.compare.comparison import VERDICTS, Comparison, Row, SideSummary
from ioplan.core.units import digits, metric_text

MAX_NAMED = 8


def cell_text(row: Row) -> str:
    """The cell as the plan writes it."""
    return " ".join(f"{axis}={value}" for axis, value in row.cell.items())


def change_text(ratio: float | None) -> str:
    """A ratio as a change: +12.3 %."""
    return "–" if ratio is None else f"{_signed(ratio)} %"


def interval_text(row: Row) -> str:
    """The interval of the change, both ends in percent."""
    if row.low is None or row.high is None:
        return "–"
    return f"{_signed(row.low)} … {_signed(row.high)}"


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


def row_text(row: Row) -> str:
    """A row as one line."""
    figures = f"{row.metric} {base_text(row)} -> {new_text(row)}"
    change = f", {change_text(row.ratio)} ({interval_text(row)})" if row.ratio else ""
    why = f"; {row.why}" if row.why else ""
    return f"{row.verdict}: {figures}{change}{why}"


def side_text(name: str, side: SideSummary) -> str:
    """One side: what ran on what."""
    return (
        f"{name} {', '.join(side.sessions)}: {side.plan} on {side.target}, "
        f"{side.backend}"
    )


def summary_text(found: Comparison) -> str:
    """How many rows have which verdict."""
    counts = ", ".join(f"{found.count(word)} {word}" for word in VERDICTS)
    return f"{counts}; smaller than {found.threshold_percent:g} % counts as equal"


def notes(found: Comparison) -> Iterator[str]:
    """What a reader has to know besides the rows, each once."""
    whys = Counter(r.why for r in found.rows if r.why and r.verdict == "undecided")
    for why, count in whys.items():
        yield f"{count} undecided: {why}"
    for row in _failed(found):
        yield f"{row.test} {cell_text(row)}: {row.why}"
    remarks = Counter(remark for row in found.rows for remark in row.remarks)
    for remark, count in remarks.items():
        yield f"{count} rows: {remark}"
    yield from _missing("NEW has no", found.only_base)
    yield from _missing("BASE has no", found.only_new)


def _failed(found: Comparison) -> list[Row]:
    """A row for each cell that failed, not one for each metric."""
    failed = {
        (row.test, tuple(row.cell.items())): row
        for row in found.rows
        if row.why and row.verdict == "worse"
    }
    return list(failed.values())


def _missing(what: str, cells: tuple[str, ...]) -> Iterator[str]:
    for cell in cells[:MAX_NAMED]:
        yield f"{what} {cell}"
    if len(cells) > MAX_NAMED:
        yield f"{what} {len(cells) - MAX_NAMED} more"
