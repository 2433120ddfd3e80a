"""Phases as bands of charts over time: where they are, in the picture and as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import counts, latencies_ns, measured, progress, record, stream
from report_charts import ID, charts, printed
from sessions import put

from ioplan.job import SECOND_NS
from ioplan.language import Metric
from ioplan.records import PhaseResult
from ioplan.results.report import ChartSpec, spec
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
KINDS = [("lines", "p99"), ("bands", "p99"), ("heatmap", "p99"), ("heatmap", "latency")]


def add(store: Store, seq: int, *phases: Phase, qd: str = "1") -> None:
    """A run of reads of 20 s with these phases."""
    reads = (latencies_ns(100 * seq + second, 50) for second in range(SECONDS))
    parts = (stream(read=counts(some)) for some in reads)
    made = measured(*(progress(n, part) for n, part in enumerate(parts, 1)))
    plain = record(seq, cell={"qd": qd}, run_s=float(SECONDS))
    found = {
        one.name: PhaseResult(
            run_s=1, streams=(), directions={}, total=plain.total, when=one
        )
        for one in phases
    }
    store.add(plain.model_copy(update={"phases": found}), made.detail)


def asked(store: Store, kind: str, name: str, by: str = "time") -> ChartSpec:
    return charts(store, kind, Metric(name=name), by=by)[0]


def windows(picture: ChartSpec) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    assert picture.phases
    for row in picture.phases.records():
        at, end = float(row["x"] or 0), float(row["x2"] or 0)
        found.setdefault(str(row["phase"]), []).append((at, end))
    return found


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_every_picture_over_time_has_them(kind: str, name: str, store: Store) -> None:
    """In the terminal each begins where its time is on the axis, to a column."""
    add(store, 1, BUSY, CALM, LATE)
    picture = asked(store, kind, name)
    assert picture.phases
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
    for width in (60, 80, 200):
        check_marks_above(printed(picture, width).splitlines(), kind)


def check_marks_above(rows: list[str], kind: str) -> None:
    (late,) = [n for n, row in enumerate(rows) if "├late" in row]
    above, both = rows[late], rows[late + 1]
    assert "phases: busy, calm, late" in rows
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
        assert picture.phases is None
        assert "at different times, and are not marked" in picture.notes[-1]


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
    assert picture.phases is None
    assert any("its phases come more than" in note for note in picture.notes)


def test_there_are_none_over_bytes_nor_in_older_records(
    store: Store, tmp_path: Path
) -> None:
    add(store, 1, BUSY)
    assert asked(store, "lines", "iops", "bytes").phases is None
    (one,), whole = store.records(ID), store.whole_detail(ID, 1)
    phases = {n: p.model_copy(update={"when": None}) for n, p in one.phases.items()}
    with Store.open(tmp_path / "old.db") as old:
        put(old, (one.model_copy(update={"phases": phases}), whole))
        assert asked(old, "lines", "p99").phases is None
