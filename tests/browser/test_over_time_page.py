"""Charts over time on the page: phases, rows of cells, and the figures of a stretch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, Report, reported
from command import ioplan

from ioplan.language import Metric
from ioplan.results.measure import IntervalCounts, Stretch, stretch
from ioplan.results.store import Store
from ioplan.workload import Direction

pytestmark = pytest.mark.slow
SECONDS = 20

PLAN = """
workload mixed {
  reader = random 8KiB 100/0, qd 4, rate 4_000 iops
  writer = random 8KiB 0/100, qd 16,
      burst 1s of 20_000 iops as checkpoint, then 4s of 100 iops as calm
}
test "Burst" {
  run mixed for 20s, interval 200ms
  chart lines reader.p99 over time
  chart bands reader.p99 over time
  chart heatmap reader.latency over time
}
test "Depths" {
  run mixed for 20s
  vary reader.qd in 1, 2, 4
  chart heatmap reader.p99 over time
}
"""

ROWS: list[tuple[str, str | None, Direction | None]] = [
    ("all", None, None),
    ("reader read", "reader", "read"),
    ("writer write", "writer", "write"),
]
FIGURES = ("iops", "bandwidth", "mean", "p50", "p99", "p99.9", "max")
TABLE = """return [...document.querySelectorAll(`#${arguments[0]} .stretch tr`)]
  .map((row) => [...row.children].map((cell) => cell.textContent.trim()));"""
CAPTION = "#{} .stretch caption"
TITLES = (
    *("p99 latency of reader over time", "Latency percentiles of reader over time"),
    "reader.latency over time",
)
FOUND = "curvesOf(chart).then((curves) => stretchOf(curves, chart.zoom))"
SETTLED = "curvesOf(chart).then(() => 0)"

MARKS = """const chart = chartOf(document.getElementById(arguments[0]));
  const found = [];
  const walk = (item) => {
    for (const group of item.items ?? []) {
      if (group.items) group.items.forEach(walk);
      const { role, phase, label } = group.datum ?? {};
      if (role !== "phase") continue;
      const text = item.marktype === "text" ? group.text : null;
      found.push([item.marktype, phase, text, group.x, group.width ?? 0, group.height ?? 0]);
    }
  };
  walk(chart.view.scenegraph().root);
  const x = (value) => chart.view.scale("x")(value);
  const width = chart.view.scale("x").range ? chart.view.scale("x").range()[1] : 0;
  return [found, [0, 1, 5, 6].map((s) => { try { return x(s); } catch { return null; } }), width];"""


@pytest.fixture(scope="module")
def burst(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return reported(tmp_path_factory.mktemp("burst"), PLAN, "256MiB")


def stored(report: Report, begin_s: float, end_s: float) -> Stretch:
    """As the terminal makes it."""
    with Store.open(report.store) as store:
        packed = store.intervals(store.session("last").id, 1)
    found = stretch(IntervalCounts(packed), begin_s * 1e9, end_s * 1e9)
    assert found
    return found


def figure_of(
    found: Stretch, name: str, stream: str | None, way: Direction | None
) -> float | None:
    return found.figure(Metric(name=name, stream=stream, direction=way)).value


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.long
@pytest.mark.promise("figures.stretch")
def test_a_stretch_is_the_terminals(
    title: str, chromium: Browser, burst: Report
) -> None:
    chromium.looked_at(burst.page)
    id = chromium.figure(title)
    assert chromium.texts(CAPTION.format(id)) == []
    chromium.dragged(id, 0.25)
    chromium.chart(id, SETTLED)
    begin_s, end_s = chromium.chart(id, "chart.zoom")
    assert 2 < end_s - begin_s < 12
    told: dict[str, Any] = chromium.chart(id, FOUND)
    by_hand = stored(burst, begin_s, end_s)
    ends = (told["begin"], told["end"])
    assert ends == pytest.approx((by_hand.begin_ns / 1e9, by_hand.end_ns / 1e9))
    assert told["intervals"] == by_hand.intervals
    assert [row["row"] for row in told["rows"]] == [name for name, *_ in ROWS]
    for row, (_, *part) in zip(told["rows"], ROWS, strict=True):
        wanted = {name: figure_of(by_hand, name, *part) for name in FIGURES}
        assert {n: row[n] for n in FIGURES} == pytest.approx(wanted, rel=1e-12)
    head, *shown = chromium.run(TABLE, id)
    assert len(shown) == len(ROWS) and head[1] == "IOPS"
    whole = f"{by_hand.intervals} whole intervals"
    (caption,) = chromium.texts(CAPTION.format(id))
    assert f": {whole}" in caption
    as_text = "{:.6f}s..{:.6f}s".format(*ends)
    printed = ioplan("show", "last", "--store", burst.store, "--during", as_text).out
    assert whole in printed, printed
    lines = [line.split() for line in printed.splitlines()]
    for (name, *_), cells in zip(ROWS, shown, strict=True):
        words = next(r for r in lines if r[:1] == [name.split()[0]])
        assert cells[5] in " ".join(words), (cells, words)
    chromium.click(id, "whole range")
    chromium.chart(id, SETTLED)
    assert chromium.texts(CAPTION.format(id)) == []
    assert chromium.said() == []


def test_phases_stand_where_they_are(chromium: Browser, burst: Report) -> None:
    chromium.looked_at(burst.page)
    for title in (TITLES[0], TITLES[2]):
        found, (zero, one, five, six), _ = chromium.run(MARKS, chromium.figure(title))
        assert {"checkpoint", "calm"} <= names_of(found)
        bands = [
            (x, width)
            for kind, phase, _, x, width, height in found
            if (kind, phase) == ("rect", "checkpoint") and height < 10
        ]
        assert len(bands) == SECONDS // 5
        assert bands[0] == pytest.approx((zero, one - zero), abs=0.5)
        assert bands[1] == pytest.approx((five, six - five), abs=0.5)
    assert chromium.said() == []


def names_of(marks: list[Any]) -> set[str]:
    return {text for kind, _, text, *_ in marks if kind == "text" and text}


@pytest.mark.long
def test_a_heat_map_has_a_row_for_each_cell(chromium: Browser, burst: Report) -> None:
    chromium.looked_at(burst.page)
    (id,) = chromium.run("""return figures.filter((f) => f.dataset.kind === "heatmap")
      .map((f) => f.id)""")
    cells = chromium.chart(id, "texts(chart, 'row')")
    assert len(cells) == 3 and all("qd" in text for text in cells)
    rows = chromium.chart(id, "shownRows(chart).map((r) => [r.row, r.x, r.y])")
    assert len(rows) == 3 * SECONDS
    p99 = Metric(name="p99", stream="reader")
    with Store.open(burst.store) as store:
        session = store.session("last").id
        for number, text in enumerate(cells):
            counted = IntervalCounts(store.intervals(session, 2 + number))
            wanted = [Stretch([one]).value(p99) for one in counted]
            assert [y for row, _, y in rows if row == text] == wanted
    found, *_ = chromium.run(MARKS, id)
    marked = [row[:2] for row in found if row[:2] == ["rect", "checkpoint"]]
    assert len(marked) == SECONDS // 5 and {"checkpoint", "calm"} <= names_of(found)
    assert chromium.said() == []


PARTED = """
workload parted {
  all = random 8KiB 100/0, rate 400 iops
  part = random 8KiB 100/0, rate 200 iops, starts after 4s, ends after 10s
}
test "Parted" {
  run parted for 14s
  chart lines all.p99 over time
}
"""
CHOSEN = """const [id, span] = arguments;
  return curvesOf(chartOf(document.getElementById(id))).then((curves) => stretchOf(curves, span));"""


@pytest.mark.long
def test_a_stream_s_rate_is_over_its_part(chromium: Browser, tmp_path: Path) -> None:
    """Of a stretch."""
    chromium.looked_at(reported(tmp_path, PARTED, "64MiB").page)
    id = chromium.figure("p99 latency of all over time")

    def rates(*span: int) -> dict[str, float]:
        found = chromium.run(CHOSEN, id, span)["rows"]
        return {row["row"].split()[0]: row["iops"] for row in found}

    for span in ((0, 14), (2, 12), (6, 8)):
        assert rates(*span)["part"] == pytest.approx(200, rel=0.02)
        assert rates(*span)["all"] == pytest.approx(400, rel=0.02)
    assert rates(11, 13)["part"] is None
