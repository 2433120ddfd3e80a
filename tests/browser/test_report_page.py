"""The report in a real browser: every chart, switch, download, figure."""

from __future__ import annotations

import csv
import io
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from chromium import Browser, Report
from failed_cells import QDS
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from ioplan.language.metric import Metric
from ioplan.report.document import FAILED, Kind
from ioplan.report.reader import Reader
from ioplan.store.store import Store

DRAW_ALL = "figures.forEach(come);"
COLORED = """
const done = arguments[0];
const figure = document.getElementById(done);
return chartOf(figure).view.toCanvas().then((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    const rgb = [data[i], data[i + 1], data[i + 2]];
    if (data[i + 3] > 60 && Math.max(...rgb) - Math.min(...rgb) > 40) found += 1;
  }
  return found;
});
"""
SHOWN = """
const { view, figure } = chartOf(document.getElementById(arguments[0]));
return view.toSVG();
"""
CUT = """
return [...document.querySelectorAll(".plot svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const name = svg.closest("figure").querySelector("h3").textContent;
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return text.textContent && box.width && (box.left < frame.left - 1.5
      || box.right > frame.right + 1.5 || box.bottom > frame.bottom + 1.5);
  }).map((text) => `${name}: ${text.textContent}`);
});
"""


def drawn(chromium: Browser, page: Path, width: int = 1280) -> list[str]:
    """Open a page, draw all of it; the ids of its drawn figures."""
    chromium.open(page, width)
    chromium.run(DRAW_ALL)
    found = "figures.filter((f) => f.querySelector('.plot')).map((f) => f.id)"
    ids: list[str] = chromium.run(f"return {found}")
    return ids


def figure(chromium: Browser, title: str) -> str:
    """The id of the figure of a title."""
    script = """return figures.find((f) =>
      f.querySelector("h3").textContent === arguments[0])?.id"""
    found: str | None = chromium.run(script, title)
    assert found, title
    return found


def click(chromium: Browser, id: str, text: str) -> None:
    script = """[...document.getElementById(arguments[0]).querySelectorAll("button")]
      .find((button) => button.textContent === arguments[1]).click()"""
    chromium.run(script, id, text)


@pytest.mark.parametrize("which", ["simulated", "single"])
def test_every_chart_is_drawn_and_nothing_is_said_or_fetched(
    chromium: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    report: Report = request.getfixturevalue(which)
    chromium.said(), chromium.asked_for()
    ids = drawn(chromium, report.page)
    kinds = chromium.run("return figures.map((f) => f.dataset.kind)")
    assert set(kinds) == set(get_args(Kind))
    for id in ids:
        assert chromium.run(COLORED, id) > 40, id
    assert chromium.said() == []
    assert chromium.asked_for() == []
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0


def test_only_what_is_near_is_drawn(chromium: Browser, single: Report) -> None:
    chromium.open(single.page)
    time.sleep(0.3)
    count = "return figures.filter((f) => f.dataset.drawn !== undefined).length"
    few = chromium.run(count)
    chromium.run("scrollTo(0, document.body.scrollHeight / 2)")
    time.sleep(0.5)
    assert few < chromium.run(count) < chromium.run("return figures.length")


def test_each_switch_changes_its_chart(chromium: Browser, single: Report) -> None:
    switched = set()
    for id in drawn(chromium, single.page):
        script = """return [...document.getElementById(arguments[0])
          .querySelectorAll(".tools button")].map((b) => b.textContent)"""
        for text in chromium.run(script, id):
            if ": " not in text:
                continue
            before = chromium.run(SHOWN, id)
            click(chromium, id, text)
            assert chromium.run(SHOWN, id) != before, (id, text)
            assert chromium.run(COLORED, id) > 40, (id, text)
            switched.add(text.partition(":")[0])
    assert switched == {"x", "y", "color"}
    assert chromium.said() == []


def downloaded(chromium: Browser, name: str) -> bytes:
    path = chromium.downloads / name
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if path.exists() and path.stat().st_size:
            return path.read_bytes()
        time.sleep(0.05)
    raise AssertionError(sorted(chromium.downloads.iterdir()))


@pytest.mark.parametrize(
    "title",
    [
        "Throughput by queue depth",
        "IOPS over time",
        "IOPS by queue depth and read share",
    ],
)
def test_downloads(chromium: Browser, single: Report, title: str) -> None:
    drawn(chromium, single.page)
    id = figure(chromium, title)
    name = title.lower().replace(" ", "-")
    for kind in ("PNG", "SVG", "CSV"):
        click(chromium, id, kind)
    assert downloaded(chromium, f"{name}.png").startswith(b"\x89PNG")
    svg = downloaded(chromium, f"{name}.svg")
    texts = [e.text for e in ET.fromstring(svg).iter() if e.tag.endswith("text")]
    assert title in texts
    rows = list(csv.reader(io.StringIO(downloaded(chromium, f"{name}.csv").decode())))
    count = "return chartOf(document.getElementById(arguments[0])).rows.length"
    assert len(rows) == 1 + chromium.run(count, id)
    for file in chromium.downloads.iterdir():
        file.unlink()


def test_the_figures_are_those_of_the_store(chromium: Browser, single: Report) -> None:
    """Each cell of each test's table, as a reader sees it."""
    drawn(chromium, single.page)
    script = """
    const found = {};
    for (const section of document.querySelectorAll("section.test")) {
      const details = section.querySelector(".runs details");
      details.open = true;
      fillTable(details);
      const [head, ...rows] = [...details.querySelectorAll("tr")]
        .map((tr) => [...tr.children].map((cell) => cell.textContent));
      found[section.querySelector("h2").textContent] =
        rows.map((row) => Object.fromEntries(row.map((text, i) => [head[i], text])));
    }
    return found;"""
    shown = chromium.run(script)
    with Store.open(single.store) as store:
        runs = [r for r in store.records(single.sessions[0]) if r.asked.kind == "run"]
    compared = 0
    for record in runs:
        if record.asked.round:
            continue  # these are means over rounds, and compared below
        rows = shown[record.asked.test]
        names = {"qd": "queue depth", "read": "read share", "size": "block size"}
        names["align"] = "alignment"
        cell = {names.get(n, n): text for n, text in record.asked.cell.items()}
        (row,) = [r for r in rows if cell.items() <= r.items()]
        assert record.total.latency
        assert near(row["IOPS"], record.total.iops, 0.0501)
        assert near(row["throughput (MB/s)"], record.total.bandwidth_bytes_per_s / 1e6)
        assert near(row["mean (µs)"], record.total.latency.mean_ns / 1e3)
        assert near(row["max (µs)"], record.total.latency.max_ns / 1e3)
        for kept in record.total.latency.percentiles:
            if f"p{kept.percent:g} (µs)" in row:
                expected = kept.latency_ns / 1e3 if kept.supported else None
                assert near(row[f"p{kept.percent:g} (µs)"], expected)
        compared += 1
    assert compared > 60


def near(text: str, expected: float | None, within: float = 0.0006) -> bool:
    if expected is None:
        return text == "–"
    return abs(float(text.replace(",", "")) - expected) <= within


def test_the_points_are_those_of_the_store(chromium: Browser, single: Report) -> None:
    """Rounds: each point of the heatmap is the figure over the last window."""
    drawn(chromium, single.page)
    id = figure(chromium, "IOPS by block size and read share")
    rows = chromium.run(
        "return chartOf(document.getElementById(arguments[0])).rows", id
    )
    with Store.open(single.store) as store:
        records = [r for r in store.records(single.sessions[0]) if r.asked.round]
        last = max(r.asked.round for r in records)
        for row in rows:
            cell = {"size": row["x"], "read": row["row"]}
            found = [
                r for r in records if r.asked.cell == cell and r.asked.round > last - 5
            ]
            assert len(found) == 5
            assert row["y"] == Reader(store).figure(Metric(name="iops"), found).value
    assert len(rows) == 4


def test_a_table_needs_no_axis(chromium: Browser, simulated: Report) -> None:
    """Of one point, a row a session and a column a figure."""
    drawn(chromium, simulated.page)
    script = """
    const figure = figures.find((f) =>
      f.querySelector("code")?.textContent === "chart table iops, mean, max");
    return [...figure.querySelectorAll(".pivot tr")]
      .map((tr) => [...tr.children].map((cell) => cell.textContent));"""
    head, *rows = chromium.run(script)
    latencies = ["mean latency (µs)", "largest latency (µs)"]
    assert head == ["session", "IOPS", *latencies]
    with Store.open(simulated.store) as store:
        for row, session in zip(rows, simulated.sessions, strict=True):
            (found,) = store.records(session, "Consistency")
            assert found.total.latency
            assert near(row[1], found.total.iops, 0.0501)
            assert near(row[2], found.total.latency.mean_ns / 1e3)
            assert near(row[3], found.total.latency.max_ns / 1e3)


def test_queue_depths_stand_in_their_order(chromium: Browser, single: Report) -> None:
    drawn(chromium, single.page)
    id = figure(chromium, "Throughput by queue depth")
    script = """return [...document.getElementById(arguments[0])
      .querySelectorAll(".role-axis-label text")]
      .map((t) => [t.textContent, t.getBoundingClientRect()])
      .filter(([text, box]) => /^[0-9]+$/.test(text))
      .map(([text, box]) => [Number(text), box.left, box.top])"""
    labels = chromium.run(script, id)
    lowest = max(top for _, _, top in labels)
    along = sorted((left, qd) for qd, left, top in labels if abs(top - lowest) < 3)
    assert [qd for _, qd in along] == [1, 2, 4, 8, 16, 32, 64, 128]


def test_bars_stand_side_by_side(chromium: Browser, simulated: Report) -> None:
    script = """
    return [...document.querySelectorAll('figure[data-kind="bars"]')].map((figure) => {
      const bars = [...figure.querySelectorAll("path[aria-roledescription='bar']")];
      const lefts = bars.map((bar) => Math.round(bar.getBoundingClientRect().left));
      return [bars.length, new Set(lefts).size];
    });"""
    drawn(chromium, simulated.page)
    found = chromium.run(script)
    assert [2, 2] in found  # the largest latency of either session, averaged
    assert all(bars == places for bars, places in found)


def test_panels_stand_in_the_order_of_the_sessions(
    chromium: Browser, simulated: Report
) -> None:
    drawn(chromium, simulated.page)
    names = chromium.run(
        "return [...document.querySelectorAll('#sessions input')].map((i) => i.value)"
    )
    id = figure(chromium, "IOPS by queue depth and read share")
    script = """return [...document.getElementById(arguments[0])
      .querySelectorAll(".column_header text, .row_header text, .cell .role-title text")]
      .map((text) => text.textContent)"""
    shown = [text for text in chromium.run(script, id) if text in names]
    assert shown == names


@pytest.mark.parametrize("kind", ["heatmap", "lines", "bars", "convergence"])
def test_names_of_panels_stand_in_one_line(
    chromium: Browser, simulated: Report, kind: str
) -> None:
    """However far the marks below reach up."""
    drawn(chromium, simulated.page)
    script = """
    return [...document.querySelectorAll(`figure[data-kind="${arguments[0]}"]`)]
      .map((figure) => [...figure.querySelectorAll(".cell .role-title text")]
        .map((text) => Math.round(text.getBoundingClientRect().top)))
      .filter((tops) => tops.length > 1);"""
    rows = chromium.run(script, kind)
    assert all(len(set(tops)) == 1 for tops in rows), rows


def test_the_table_of_runs_is_seen_whole(chromium: Browser, single: Report) -> None:
    drawn(chromium, single.page)
    chromium.run(
        "document.querySelectorAll('.runs details').forEach((d) => { d.open = true })"
    )
    script = """return [...document.querySelectorAll(".runs .scroll")]
      .filter((one) => one.scrollWidth > one.clientWidth).length"""
    assert chromium.run(script) == 0


@pytest.mark.parametrize("width", [390, 768, 1280, 1700])
def test_it_fits_and_no_label_is_cut(
    chromium: Browser, simulated: Report, width: int
) -> None:
    drawn(chromium, simulated.page, width)
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert chromium.run(CUT) == []


def test_a_failed_cell_is_a_mark_and_no_point(
    chromium: Browser, failed: Report
) -> None:
    """Of four queue depths two failed, the last one too: the axis has it."""
    drawn(chromium, failed.page)
    id = figure(chromium, "IOPS by queue depth")
    script = """
    const texts = (all) => [...all].map((text) => text.textContent);
    const figure = document.getElementById(arguments[0]);
    const plot = figure.querySelector(".plot");
    return {
      points: plot.querySelectorAll("path[aria-roledescription='circle']").length,
      marks: texts(plot.querySelectorAll(".mark-text text")),
      ticks: texts(plot.querySelectorAll(".role-axis-label text")),
      notes: texts(figure.querySelectorAll(".notes li")),
    };"""
    found = chromium.run(script, id)
    assert found["points"] == 2
    assert found["marks"].count(FAILED) == 2
    assert set(QDS) <= set(found["ticks"])
    assert any(
        note.startswith(f"{FAILED} failed or stopped") for note in found["notes"]
    )
    rows = """
    const details = document.querySelector(".runs details");
    details.open = true;
    fillTable(details);
    return [...details.querySelectorAll("tbody tr")]
      .map((tr) => [...tr.children].map((cell) => cell.textContent));"""
    states = {row[0]: row[-1] for row in chromium.run(rows)}
    assert states == {"1": "ok", "2": "✕ failed", "4": "ok", "8": "✕ failed"}
    assert chromium.said() == []


def test_a_point_tells_its_figures(chromium: Browser, single: Report) -> None:
    drawn(chromium, single.page)
    id = figure(chromium, "Throughput by queue depth")
    points = f"#{id} .plot path[aria-roledescription='circle']"
    found = chromium.driver.find_elements(By.CSS_SELECTOR, points)
    assert len(found) == 8
    chromium.run("arguments[0].scrollIntoView({block: 'center'})", found[3])
    ActionChains(chromium.driver).move_to_element(found[3]).perform()
    hint = chromium.run("return box.hidden ? '' : box.innerText")
    row = chromium.run(
        "return chartOf(document.getElementById(arguments[0])).rows[3]", id
    )
    assert f"{row['y'] / 1e6:,.3f}".rstrip("0") in hint
    assert "queue depth" in hint


def test_the_keyboard_reaches_every_point(chromium: Browser, single: Report) -> None:
    drawn(chromium, single.page)
    id = figure(chromium, "Throughput by queue depth")
    plot = chromium.driver.find_element(By.CSS_SELECTOR, f"#{id} .plot")
    chromium.run("arguments[0].focus()", plot)
    hints = []
    for _ in range(8):
        plot.send_keys(Keys.ARROW_RIGHT)
        hints.append(plot.find_element(By.XPATH, "../p[@class='hint']").text)
    assert [text.split(",")[0] for text in hints] == [
        f"queue depth {2**n}" for n in range(8)
    ]
    ring = f"#{id} .plot path[aria-roledescription='point'][stroke='#888888']"
    assert len(chromium.driver.find_elements(By.CSS_SELECTOR, ring)) == 1


def test_a_session_can_be_left_out(chromium: Browser, simulated: Report) -> None:
    drawn(chromium, simulated.page)
    id = figure(chromium, "Throughput by queue depth")
    count = "return shownRows(chartOf(document.getElementById(arguments[0]))).length"
    both = chromium.run(count, id)
    chromium.run("document.querySelector('#sessions input').click()")
    assert chromium.run(count, id) == both / 2
    assert chromium.run(COLORED, id) > 40


def test_dark_and_light(chromium: Browser, single: Report) -> None:
    drawn(chromium, single.page)
    ground = "return getComputedStyle(document.body).backgroundColor"
    id = figure(chromium, "Throughput by queue depth")
    seen = []
    for theme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": theme}
        chromium.tell("Emulation.setEmulatedMedia", features=[feature])
        seen.append((chromium.run(ground), chromium.run(SHOWN, id)))
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]
    chromium.run("document.getElementById('theme').click()")  # auto, then light
    assert chromium.run(ground) == seen[0][0]
    chromium.tell("Emulation.setEmulatedMedia", features=[])


def test_it_prints_with_all_its_charts(chromium: Browser, single: Report) -> None:
    chromium.open(single.page)
    before = chromium.run("return near.size")
    chromium.tell("Page.printToPDF", printBackground=True)
    count = "return figures.filter((f) => f.dataset.drawn !== undefined || !f.querySelector('.plot')).length"
    assert before < chromium.run(count) == chromium.run("return figures.length")


def test_everything_has_a_name(chromium: Browser, simulated: Report) -> None:
    """What a screen reader says: of figures, buttons, choices, plots."""
    drawn(chromium, simulated.page)
    script = """
    const named = (e) => e.getAttribute("aria-label")
      || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent
      || e.closest("label")?.textContent || e.textContent.trim();
    const all = "button, select, input, figure[data-kind], .plot, nav, aside, summary";
    return [...document.querySelectorAll(all)].filter((e) => !named(e))
      .map((e) => e.outerHTML.slice(0, 80));"""
    assert chromium.run(script) == []
    levels = chromium.run(
        "return [...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])"
    )
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
