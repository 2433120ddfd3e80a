"""Phases as bands of charts over time: where they are, in the picture and as text."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from report_charts import ID
from rich.console import Console
from run_data import counts, latencies_ns, progress, record, stream

from ioplan.job import SECOND_NS
from ioplan.language import Metric
from ioplan.language.metric import LATENCY
from ioplan.language.plan import Chart
from ioplan.records.record import PhaseResult
from ioplan.results.measure import Measurement
from ioplan.results.report import (
    ChartSpec,
    Reader,
    Request,
    chart,
    drawn,
    points,
    renderer,
    spec,
)
from ioplan.results.report.charts.phases import APART, MANY, lanes
from ioplan.results.store import Store
from ioplan.workload import Phase

SECONDS = 20
BUSY = Phase(name="busy", start_ns=2 * SECOND_NS, length_ns=SECOND_NS)
BUSY = BUSY.model_copy(update={"every_ns": 5 * SECOND_NS})
CALM = Phase(name="calm", start_ns=3 * SECOND_NS, length_ns=4 * SECOND_NS)
CALM = CALM.model_copy(update={"every_ns": 5 * SECOND_NS})
LATE = Phase(name="late", start_ns=8 * SECOND_NS, length_ns=1 << 62)
BY_HAND = {
    "busy": [(2, 3), (7, 8), (12, 13), (17, 18)],
    "calm": [(3, 7), (8, 12), (13, 17), (18, 20)],
    "late": [(8, 20)],
}
KINDS = [("lines", "p99"), ("bands", "p99"), ("heatmap", "p99"), ("heatmap", LATENCY)]


def add(store: Store, seq: int, *phases: Phase, qd: str = "1") -> None:
    """A run of reads of 20 s with these phases."""
    made = Measurement()
    for second in range(SECONDS):
        reads = latencies_ns(100 * seq + second, 50)
        made.add(progress(second + 1, stream(read=counts(reads))))
    plain = record(seq, cell={"qd": qd}).model_copy(update={"run_s": float(SECONDS)})
    found = {
        one.name: PhaseResult(
            run_s=1, streams=(), directions={}, total=plain.total, when=one
        )
        for one in phases
    }
    store.add(plain.model_copy(update={"phases": found}), made.detail)


def asked(store: Store, kind: str, name: str, *by: str) -> ChartSpec:
    made: Chart = chart(kind, (), by or ("time",))
    one = replace(made, metrics=(Metric(name=name),))
    runs = points({"A": list(store.records(ID))})
    (found,) = renderer(one)(Request(one, runs, Reader(store)))
    return found


def windows(picture: ChartSpec) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    assert picture.phases
    for row in picture.phases.records():
        at, end = float(row["x"] or 0), float(row["x2"] or 0)
        found.setdefault(str(row["phase"]), []).append((at, end))
    return found


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_every_picture_over_time_has_them(kind: str, name: str, store: Store) -> None:
    add(store, 1, BUSY, CALM, LATE)
    picture = asked(store, kind, name)
    assert picture.phases
    assert lanes(picture.phases) == {"busy": 0, "calm": 0, "late": 1}
    if kind == "heatmap" and name == "p99":
        columns = {
            (str(row["x"]), str(row["phase"])) for row in picture.phases.records()
        }
        assert len(picture.frame.column("x").order) == SECONDS
        for phase, times in BY_HAND.items():
            told = {float(x.split()[0]) for x, p in columns if p == phase}
            assert told == {at for a, b in times for at in range(a, b)}
    else:
        assert windows(picture) == BY_HAND
    layers = str(spec(picture))
    assert all(f"'equal': '{phase}'" in layers for phase in BY_HAND)


@pytest.mark.parametrize(("kind", "name"), KINDS)
@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_terminal_marks_them_above(
    kind: str, name: str, width: int, store: Store
) -> None:
    """Each begins where its time is on the axis, to a column."""
    add(store, 1, BUSY, CALM, LATE)
    console = Console(file=StringIO(), width=width, no_color=True)
    for part in drawn(asked(store, kind, name), console):
        console.print(part)
    rows = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    (late,) = [n for n, row in enumerate(rows) if "├late" in row]
    above, both = rows[late], rows[late + 1]
    assert "phases: busy, calm, late" in rows
    assert all(len(row) <= width for row in rows)
    first = 1 if kind in ("lines", "bands") else 0  # an interval is drawn at its end
    begins = [at for at, sign in enumerate(both) if sign == "├"]
    times_s = sorted(a for name in ("busy", "calm") for a, _ in BY_HAND[name])
    assert len(begins) == len(times_s)
    per_s = (begins[-1] - begins[0]) / (times_s[-1] - times_s[0])
    for at, time_s in zip(begins, times_s, strict=True):
        assert at == pytest.approx(begins[0] + per_s * (time_s - times_s[0]), abs=1.01)
    assert above.index("├late") == pytest.approx(begins[0] + 6 * per_s, abs=1.01)
    left = begins[0] - per_s * (2 - first)
    frame = next(row for row in rows if "└" in row or "A ░" in row or "A ▒" in row)
    edge = frame.index("└") + 1 if "└" in frame else frame.index("A ") + 2
    assert left == pytest.approx(edge, abs=1.5)


def test_curves_whose_phases_differ_have_none(store: Store) -> None:
    add(store, 1, BUSY, qd="1")
    add(store, 2, CALM, qd="2")
    for kind, name in KINDS:
        picture = asked(store, kind, name)
        assert picture.phases is None and APART in picture.notes


def test_a_run_that_ended_early_shares_those_that_it_had(store: Store) -> None:
    """Cells one after the other, of which each has its own time."""
    add(store, 1, BUSY, qd="1")
    add(store, 2, BUSY, qd="2")
    assert windows(asked(store, "lines", "p99")) == {"busy": BY_HAND["busy"]}


def test_too_many_are_not_drawn(store: Store) -> None:
    often = BUSY.model_copy(update={"length_ns": 10**6, "every_ns": 5 * 10**7})
    often = often.model_copy(update={"start_ns": 0})
    add(store, 1, often, often.model_copy(update={"name": "other"}))
    picture = asked(store, "lines", "p99")
    assert picture.phases is None and MANY in picture.notes


def test_there_are_none_over_bytes_nor_in_older_records(
    store: Store, tmp_path: Path
) -> None:
    add(store, 1, BUSY)
    assert asked(store, "lines", "iops", "bytes").phases is None
    with Store.open(tmp_path / "old.db") as old:
        one = next(iter(store.records(ID)))
        phases = {n: p.model_copy(update={"when": None}) for n, p in one.phases.items()}
        old.begin(store.session(ID))
        whole = store.whole_detail(ID, 1)
        old.add(one.model_copy(update={"phases": phases}), whole)
        assert asked(old, "lines", "p99").phases is None
