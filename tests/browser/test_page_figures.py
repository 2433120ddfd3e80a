"""The figures that a reader of the page sees: in tables, hints, marks and downloads."""

from __future__ import annotations

import csv
import io
import struct
import time
import xml.etree.ElementTree as ET

import pytest
from chromium import Browser, Report, click, drawn, drawn_one, figure, looked_at
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import SWEPT

from ioplan.language import Metric
from ioplan.results.report import FAILED, Reader
from ioplan.results.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.long]


def near(text: str, expected: float | None, within: float = 0.0006) -> bool:
    if expected is None:
        return text == "–"
    return abs(float(text.replace(",", "")) - expected) <= within


def has_aligned_points(rows: list[dict[str, str]]) -> bool:
    """Whether each column has as many places behind its points, blanks or digits."""
    after = [
        {len(text.replace("\u2008", ".").partition(".")[2]) for text in texts}
        for name in rows[0]
        if name.endswith("(µs)")
        for texts in [[row[name] for row in rows if row[name] != "–"]]
    ]
    return all(len(found) <= 1 for found in after) and {3} in after


def downloaded(chromium: Browser, name: str) -> bytes:
    path = chromium.downloads / name
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if path.exists() and path.stat().st_size:
            return path.read_bytes()
        time.sleep(0.05)
    raise AssertionError(sorted(chromium.downloads.iterdir()))


@pytest.mark.parametrize(
    ("title", "test"),
    [
        ("Throughput by queue depth", "Over queue depth"),
        ("IOPS by queue depth and read share", "Read share"),
    ],
)
def test_downloads(chromium: Browser, single: Report, title: str, test: str) -> None:
    """A picture tells what it shows, of which drive and session, when, by what."""
    looked_at(chromium, single.page)
    id = figure(chromium, title)
    (session,) = single.sessions
    name = f"every-chart-{test}-{title}".lower().replace(" ", "-") + f"-{session}"
    for kind in ("PNG", "SVG", "CSV"):
        click(chromium, id, kind)
    png = downloaded(chromium, f"{name}.png")
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (2400, 1350)
    svg = ET.fromstring(downloaded(chromium, f"{name}.svg"))
    assert (svg.get("width"), svg.get("height")) == ("1200", "675")
    texts = [e.text or "" for e in svg.iter() if e.tag.endswith("text")]
    assert f"SIMULATED: {title}" in texts
    assert any(test in text and "random 4KiB" in text for text in texts)
    with Store.open(single.store) as store:
        date = store.session(session).started_at[:10]
    assert any(text.endswith(f", {date}, session {session}") for text in texts)
    assert any(text.startswith("plan Every chart · ioplan ") for text in texts)
    rows = list(csv.reader(io.StringIO(downloaded(chromium, f"{name}.csv").decode())))
    assert len(rows) == 1 + chromium.chart(id, "chart.rows.length")
    for file in chromium.downloads.iterdir():
        file.unlink()


def test_files_have_own_names(
    chromium: Browser, simulated: Report, single: Report
) -> None:
    """On a page, and on pages of other sessions."""
    names: list[str] = []
    for report in (simulated, single):
        chromium.open(report.page)
        names += chromium.run("return figures.map((f) => fileName(chartOf(f), 'png'))")
    assert len(set(names)) == len(names) > 40


def test_the_figures_are_those_of_the_store(chromium: Browser, single: Report) -> None:
    """Each cell of each test's table, as a reader sees it."""
    chromium.open(single.page)
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
    assert all(has_aligned_points(rows) for rows in shown.values())
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
        row = next(r for r in rows if cell.items() <= r.items())
        assert record.total.latency
        assert near(row["IOPS"], record.total.iops, 0.0501)
        assert near(row["throughput (MB/s)"], record.total.bandwidth_bytes_per_s / 1e6)
        assert near(row["mean (µs)"], record.total.latency.mean_ns / 1e3)
        assert near(row["max (µs)"], record.total.latency.max_ns / 1e3)
        for kept in record.total.latency.percentiles:
            if f"p{kept.percent:g} (µs)" in row:
                expected = kept.latency_ns / 1e3 if kept.supported else None
                text = row[f"p{kept.percent:g} (µs)"]
                assert near(text, expected, (expected or 0) * 0.005 + 0.0005)
                assert len(text.strip("0,.\u2007\u2008").replace(".", "")) <= 4
        compared += 1
    assert compared > 60


def test_the_points_are_those_of_the_store(chromium: Browser, single: Report) -> None:
    """Rounds: each point of the heatmap is the figure over the last window."""
    id = drawn_one(chromium, single.page, "IOPS by block size and read share")
    rows = chromium.chart(id, "chart.rows")
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
    chromium.open(simulated.page)
    script = """
    const figure = figures.find((f) =>
      f.querySelector("code")?.textContent === "chart table iops, mean, max");
    come(figure);
    return [...figure.querySelectorAll(".pivot tr")]
      .map((tr) => [...tr.children].map((cell) => cell.textContent));"""
    head, *rows = chromium.run(script)
    latencies = ["mean latency (µs)", "largest latency (µs)"]
    assert head == ["session", "IOPS", *latencies]
    with Store.open(simulated.store) as store:
        for row, session in zip(rows, simulated.sessions, strict=True):
            (found,) = store.records(session, "Consistency")
            assert found.total.latency
            figures = [text.split()[0] for text in row[1:]]
            assert near(figures[0], found.total.iops, 0.0501)
            assert near(figures[1], found.total.latency.mean_ns / 1e3)
            assert near(figures[2], found.total.latency.max_ns / 1e3)
        first, second = rows
        assert first[1].split()[1:] == []
        iops = [float(row[1].split()[0].replace(",", "")) for row in rows]
        assert second[1].split()[1] == f"×{iops[1] / iops[0]:.2f}"


def test_the_table_of_runs_is_seen_whole(chromium: Browser, single: Report) -> None:
    chromium.open(single.page)
    script = """const all = [...document.querySelectorAll(".runs details")];
      all.forEach((one) => { one.open = true; fillTable(one); });
      return [...document.querySelectorAll(".runs .scroll")]
      .filter((one) => one.scrollWidth > one.clientWidth).length"""
    assert chromium.run(script) == 0


def test_a_failed_cell_is_a_mark_no_point(chromium: Browser, failed: Report) -> None:
    """Of four queue depths two failed, the last one too: the axis has it."""
    id = drawn_one(chromium, failed.page, "IOPS by queue depth")
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
    assert set(SWEPT) <= set(found["ticks"])
    assert any(
        note.startswith(f"{FAILED} failed or stopped") for note in found["notes"]
    )
    rows = """
    const details = document.querySelector(".runs details");
    details.open = true;
    fillTable(details);
    return [...details.querySelectorAll("tbody tr")]
      .map((tr) => [...tr.children].map((cell) => cell.textContent));"""
    states = {row[0]: row[-2] for row in chromium.run(rows)}
    assert states == {"1": "ok", "2": "✕ failed", "4": "ok", "8": "✕ failed"}
    assert chromium.said() == []


def test_a_point_tells_its_figures(chromium: Browser, single: Report) -> None:
    id = drawn_one(chromium, single.page, "Throughput by queue depth")
    points = f"#{id} .plot path[aria-roledescription='circle']"
    found = chromium.driver.find_elements(By.CSS_SELECTOR, points)
    assert len(found) == 8
    chromium.run("arguments[0].scrollIntoView({block: 'center'})", found[3])
    ActionChains(chromium.driver).move_to_element(found[3]).perform()
    hint = chromium.run("return box.hidden ? '' : box.innerText")
    row = chromium.chart(id, "chart.rows[3]")
    assert f"{row['y'] / 1e6:,.3f}".rstrip("0") in hint
    assert "queue depth" in hint


def test_the_keyboard_reaches_every_point(chromium: Browser, single: Report) -> None:
    id = drawn_one(chromium, single.page, "Throughput by queue depth")
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


LANDMARKS = """
const named = [...document.querySelectorAll("aside, nav, section[aria-label]")];
return named.map((one) => `${one.localName} ${one.getAttribute("aria-label")
  ?? document.getElementById(one.getAttribute("aria-labelledby"))?.textContent}`);
"""
UNREACHED = """
return [...document.querySelectorAll(".scroll")]
  .filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex < 0)
  .map((one) => one.textContent.slice(0, 80));
"""


def test_landmarks_have_own_names(chromium: Browser, simulated: Report) -> None:
    chromium.open(simulated.page)
    found = chromium.run(LANDMARKS)
    assert len(found) > 3 and len(set(found)) == len(found)


def test_what_scrolls_has_the_keyboard(chromium: Browser, simulated: Report) -> None:
    drawn(chromium, simulated.page)
    chromium.size(390, 844)
    chromium.run(
        "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
    )
    time.sleep(0.5)
    scrolled = "return document.querySelectorAll('.scroll[tabindex=\"0\"]').length"
    assert chromium.run(UNREACHED) == []
    assert chromium.run(scrolled) > 2
    chromium.size(2400, 900)
    time.sleep(0.5)
    assert chromium.run(UNREACHED) == []
