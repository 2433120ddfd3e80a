"""`ioplan plan --detect`: how many sessions find a change of a given size."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import results_at
from ioplan.core.text import counted, line
from ioplan.language.plan import CheckedPlan
from ioplan.language.quantity import QuantityError, parse
from ioplan.planner.places import places_of
from ioplan.results.compare.detect import Detection, On, detection
from ioplan.results.compare.evidence import MOST as MOST_NIGHTS
from ioplan.results.compare.judge import Question
from ioplan.results.compare.needed import MOST
from ioplan.results.store.errors import StoreError

NIGHTLY = "Nights: until `history` confirms it in one cell, in half of the cases."


def print_detection(
    console: Console,
    plan: CheckedPlan,
    change: str,
    store: Path | None,
    on: On,
    json: bool,
) -> None:
    """The sessions a side that `compare` needs. Raises UsageError."""
    percent = _percent(change)
    ids = list(dict.fromkeys(run.run_id for run in places_of(plan).values()))
    if not ids:
        raise UsageError("--detect: the plan has no run to compare")
    found = _detected(ids, percent, store, on)
    if json:
        print_line(found.model_dump_json())
        return
    console.print(line(_heading(found)))
    console.print(_table(found))
    console.print(line(f"Alternate the sides: {found.order}"))
    console.print(line(NIGHTLY))
    for source in dict.fromkeys(one.source for one in found.metrics):
        console.print(line(f"Noise: {source}"))


def _heading(found: Detection) -> str:
    often, least = found.found_percent, found.threshold_percent
    return (
        f"Sessions per side that detect a change of {found.change_percent:g} % in "
        f"{often:g} of 100 comparisons; smaller than {least:g} % counts as equal."
    )


def _detected(ids: list[str], percent: float, store: Path | None, on: On) -> Detection:
    """Without a store, noise is assumed."""
    try:
        with results_at(str(store) if store else None) as results:
            return detection(results, ids, percent, on)
    except StoreError:
        if store:
            raise
        return detection(None, ids, percent, on)


def _table(found: Detection) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("metric")
    headings = (
        "sessions differ by",
        f"in all {counted(found.cells, 'cell')}",
        "in one cell",
        "in the noisiest",
        "nights",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for one in found.metrics:
        counts = one.all_cells, one.one_cell, one.noisiest_cell
        nights = f"over {MOST_NIGHTS}" if one.nights is None else str(one.nights)
        noise = f"{one.session_percent:.2g} %"
        table.add_row(one.metric, noise, *map(_count, counts), nights)
    return table


def _count(each: int | None) -> str:
    return f"over {MOST}" if each is None else str(each)


def _percent(text: str) -> float:
    least = Question().threshold_percent
    try:
        quantity = parse(text)
    except QuantityError as error:
        raise UsageError(f"--detect: {error}") from None
    if quantity.kind != "share" or not least < quantity.value < 100:
        raise UsageError(
            f"--detect takes a share above {least:g}%, as `compare` counts smaller "
            f"changes as equal, for example 5%, not {text!r}"
        )
    return float(quantity.value)
