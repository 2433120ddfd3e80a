"""What the benchmark of seeks found, summed up, and as the tables of docs/seek.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from statistics import median, quantiles
from typing import Any

from golden import Golden

Row = dict[str, Any]
PARTS = ("arithmetic", "runner", "sim")
PROOF = Golden("seeks")


def summary(target: str, rows: Sequence[Row]) -> Row:
    """Shares in percent, medians of the rest."""
    confirmed = [row for row in rows if row["confirmed"]]
    closed = [row for row in rows if row["lower"] and row["upper"]]
    return {
        "target": target,
        "seeks": len(rows),
        "held": sum(map(holds_truth, rows)),
        "confirmed": len(confirmed),
        "wrong_yes": sum(not is_yes(row, row["value"]) for row in confirmed),
        "probes": median(row["probes"] for row in rows),
        "most_probes": max(row["probes"] for row in rows),
        "bound": min(row["bound"] for row in rows),
        "width_percent": 100 * median(r["upper"] / r["lower"] - 1 for r in closed),
        "cost_percent": 100 * median(row["run_s"] / row["sweep_s"] for row in rows),
    }


def holds_truth(row: Row) -> bool:
    """Whether the stated interval holds a place where yes turns to no."""
    low, high = row["lower"] or 0.0, row["upper"] or inf
    return any(low <= one < high for one in row["truths"][::2])


def is_yes(row: Row, value: float) -> bool:
    """The truth at a value: below the first change is yes, above it no, and so on."""
    return sum(value > one for one in row["truths"]) % 2 == 0


HEADS = {
    "target": lambda row: row["target"],
    "seeks": lambda row: f"{row['seeks']}",
    "interval holds the truth": lambda row: percent(row["held"], row["seeks"]),
    "wrong yes": lambda row: percent(row["wrong_yes"], row["seeks"]),
    "confirmed": lambda row: percent(row["confirmed"], row["seeks"]),
    "probes: median, most (bound)": lambda row: (
        f"{row['probes']:g}, {row['most_probes']} ({row['bound']})"
    ),
    "width of the interval": lambda row: f"{row['width_percent']:.0f} %",
    "time, of a sweep's": lambda row: f"{row['cost_percent']:.0f} %",
}  # type: dict[str, Callable[[Row], str]]


def percent(part: int, whole: int) -> str:
    """To a tenth, as 2.5 % is asked about."""
    return f"{100 * part / whole:.3g} %"


def proof() -> dict[str, list[Row]]:
    """What is stored."""
    return {part: one.input for part, one in PROOF.items()}


def table() -> str:
    """The seeks whose truth is known."""
    return _table(HEADS, [row for part in PARTS for row in proof()[part]])


def _table(heads: dict[str, Callable[[Row], str]], rows: Sequence[Row]) -> str:
    lines = [list(heads), ["---"] * len(heads)]
    lines += [[cell(row) for cell in heads.values()] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


SIDES = {
    "": lambda row: row["by"],
    "depths found": lambda row: ", ".join(f"{one:g}" for one in row["values"]),
    "median": lambda row: f"{median(row['values']):g}",
    "spread": lambda row: f"{spread_percent(row['values']):.0f} %",
    "seconds": lambda row: f"{median(row['seconds']):.0f}",
}  # type: dict[str, Callable[[Row], str]]


def spread_percent(values: Sequence[float]) -> float:
    """The distance of the quartiles, as a share of the median."""
    low, _, high = quantiles(values, n=4, method="inclusive")
    return 100 * (high - low) / median(values)


def file_table() -> str:
    """ioplan and fio on the same file."""
    return _table(SIDES, proof()["file"])
