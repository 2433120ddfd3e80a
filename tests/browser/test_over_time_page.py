"""Charts over time on the page: phases, rows of cells, and the figures of a stretch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, Report, click, figure, looked_at
from command import ioplan, plan_file
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from sim_batches import rough

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
CAPTION = (
    "return document.querySelector(`#${arguments[0]} .stretch caption`)?.textContent"
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
    folder = tmp_path_factory.mktemp("burst")
    page, store = folder / "burst.html", folder / "results.db"
    plan = plan_file(folder, PLAN)
    with rough():
        call = ("run", plan, "--backend", "sim", "--create", "256MiB")
        done = ioplan(*call, "--store", store, "-q")
    assert done.code == 0, done.err
    done = ioplan("report", "last", "--store", store, "-o", page)
    assert done.code == 0, done.err
    return Report(page, store, ["last"])


def stored(report: Report, begin_s: float, end_s: float) -> Stretch:
    """As the terminal makes it."""
    with Store.open(report.store) as store:
        packed = store.intervals(store.session("last").id, 1)
    found = stretch(IntervalCounts(packed), begin_s * 1e9, end_s * 1e9)
    assert found
    return found


def figures(found: Stretch) -> list[dict[str, float | None]]:
    return [
        {
            name: found.figure(Metric(name=name, stream=stream, direction=way)).value
            for name in FIGURES
        }
        for _, stream, way in ROWS
    ]


def dragged(chromium: Browser, id: str) -> None:
    """From the middle of the plot, to near its right end."""
    (plot,) = chromium.driver.find_elements(By.CSS_SELECTOR, f"#{id} .plot svg")
    chromium.run("arguments[0].scrollIntoView({block: 'center'})", plot)
    drag = ActionChains(chromium.driver).move_to_element_with_offset(plot, 0, 0)
    width = plot.size["width"]
    drag.click_and_hold().move_by_offset(int(width / 4), 5).release().perform()
    chromium.chart(id, SETTLED)


@pytest.mark.parametrize(
    "title",
    [
        "p99 latency of reader over time",
        "Latency percentiles of reader over time",
        "reader.latency over time",
    ],
)
@pytest.mark.long
@pytest.mark.promise("figures.stretch")
def test_a_stretch_is_the_terminals(
    title: str, chromium: Browser, burst: Report
) -> None:
    looked_at(chromium, burst.page)
    id = figure(chromium, title)
    assert chromium.run(CAPTION, id) is None
    dragged(chromium, id)
    begin_s, end_s = chromium.chart(id, "chart.zoom")
    assert 2 < end_s - begin_s < 12
    told: dict[str, Any] = chromium.chart(id, FOUND)
    by_hand = stored(burst, begin_s, end_s)
    assert told["begin"] == pytest.approx(by_hand.begin_ns / 1e9)
    assert told["end"] == pytest.approx(by_hand.end_ns / 1e9)
    assert told["intervals"] == by_hand.intervals
    assert [row["row"] for row in told["rows"]] == [name for name, *_ in ROWS]
    for row, wanted in zip(told["rows"], figures(by_hand), strict=True):
        assert {n: row[n] for n in FIGURES} == pytest.approx(wanted, rel=1e-12)
    head, *shown = chromium.run(TABLE, id)
    assert len(shown) == len(ROWS) and head[1] == "IOPS"
    assert f": {by_hand.intervals} whole intervals" in chromium.run(CAPTION, id)
    as_text = f"{told['begin']:.6f}s..{told['end']:.6f}s"
    printed = ioplan("show", "last", "--store", burst.store, "--during", as_text)
    assert f"{by_hand.intervals} whole intervals" in printed.out, printed
    for (name, *_), cells in zip(ROWS, shown, strict=True):
        line = next(
            r for r in printed.out.splitlines() if r.split()[:1] == [name.split()[0]]
        )
        p99_us, line = float(cells[5].replace(",", "")), " ".join(line.split())
        assert f"{p99_us:.1f} µs" in line or f"{p99_us:.0f} µs" in line, (cells, line)
    click(chromium, id, "whole range")
    chromium.chart(id, SETTLED)
    assert chromium.run(CAPTION, id) is None
    assert chromium.said() == []


def test_phases_stand_where_they_are(chromium: Browser, burst: Report) -> None:
    looked_at(chromium, burst.page)
    for title in ("p99 latency of reader over time", "reader.latency over time"):
        found, (zero, one, five, six), _ = chromium.run(MARKS, figure(chromium, title))
        names = [text for kind, _, text, *_ in found if kind == "text" and text]
        assert names.count("checkpoint") >= 1 and names.count("calm") >= 1
        bands = [
            (x, width)
            for kind, phase, _, x, width, height in found
            if kind == "rect" and phase == "checkpoint" and height < 10
        ]
        assert len(bands) == SECONDS // 5
        assert bands[0] == pytest.approx((zero, one - zero), abs=0.5)
        assert bands[1] == pytest.approx((five, six - five), abs=0.5)
    assert chromium.said() == []


@pytest.mark.long
def test_a_heat_map_has_a_row_for_each_cell(chromium: Browser, burst: Report) -> None:
    looked_at(chromium, burst.page)
    ids = chromium.run("""return figures.filter((f) => f.dataset.kind === "heatmap")
      .map((f) => f.id)""")
    (id,) = ids
    texts = chromium.chart(id, "texts(chart, 'row')")
    assert len(texts) == 3 and all("qd" in text for text in texts)
    rows = chromium.chart(id, "shownRows(chart).map((r) => [r.row, r.x, r.y])")
    assert len(rows) == 3 * SECONDS
    with Store.open(burst.store) as store:
        session = store.session("last").id
        for number, text in enumerate(texts):
            counted = IntervalCounts(store.intervals(session, 2 + number))
            metric = Metric(name="p99", stream="reader")
            wanted = [Stretch([one]).value(metric) for one in counted]
            assert [y for row, _, y in rows if row == text] == wanted
    found, *_ = chromium.run(MARKS, id)
    marked = [row for row in found if row[0] == "rect" and row[1] == "checkpoint"]
    assert len(marked) == SECONDS // 5
    names = [text for kind, _, text, *_ in found if kind == "text" and text]
    assert {"checkpoint", "calm"} <= set(names)
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
    page, store = tmp_path / "parted.html", ("--store", tmp_path / "results.db")
    plan = plan_file(tmp_path, PARTED)
    with rough():
        call = ("run", plan, "--backend", "sim", "--create", "64MiB", "-q")
        assert ioplan(*call, *store).code == 0
    assert ioplan("report", "last", *store, "-o", page).code == 0
    looked_at(chromium, page)
    id = figure(chromium, "p99 latency of all over time")
    for span in ((0, 14), (2, 12), (6, 8)):
        found = chromium.run(CHOSEN, id, span)["rows"]
        rates = {row["row"].split()[0]: row["iops"] for row in found}
        assert rates["part"] == pytest.approx(200, rel=0.02)
        assert rates["all"] == pytest.approx(400, rel=0.02)
    (part,) = (
        row
        for row in chromium.run(CHOSEN, id, (11, 13))["rows"]
        if row["row"].startswith("part")
    )
    assert part["iops"] is None
