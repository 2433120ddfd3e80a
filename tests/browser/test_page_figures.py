"""The figures that a reader of the page sees: in tables, hints, marks and downloads."""

import csv
import io
import struct
import time
import xml.etree.ElementTree as ET

import pytest
from chromium import FILLED, RING
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import SWEPT

from ioplan import iops_text, latency_text, metric_text
from ioplan.language import Metric
from ioplan.results.report import FAILED, Reader
from ioplan.results.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.long]


def downloaded(chromium, name):
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
def test_downloads(chromium, single, title, test):
    """A picture tells what it shows, of which drive and session, when, by what."""
    chromium.looked_at(single.page)
    (session,), id = single.sessions, chromium.figure(title)
    name = f"every-chart-{test}-{title}".lower().replace(" ", "-") + f"-{session}"
    for kind in ("PNG", "SVG", "CSV"):
        chromium.click(id, kind)
    png, svg, table = (
        downloaded(chromium, f"{name}.{kind}") for kind in ("png", "svg", "csv")
    )
    assert png.startswith(b"\x89PNG") and png[16:24] == struct.pack(">II", 2400, 1350)
    root = ET.fromstring(svg)
    assert (root.get("width"), root.get("height")) == ("1200", "675")
    shown = [e.text or "" for e in root.iter() if e.tag.endswith(("text", "tspan"))]
    with Store.open(single.store) as store:
        date = store.session(session).started_at[:10]
    assert f"SIMULATED: {title}" in shown
    assert any(test in text and "random 4KiB" in text for text in shown)
    assert any(text.endswith(f", {date}, session {session}") for text in shown)
    assert any(text.startswith("plan Every chart · ioplan ") for text in shown)
    rows = list(csv.reader(io.StringIO(table.decode())))
    assert len(rows) == 1 + chromium.chart(id, "chart.rows.length")
    for file in chromium.downloads.iterdir():
        file.unlink()


def test_a_spreadsheet_calculates_no_text(chromium, single):
    """As in exports: a cell of a plan of others may be called =cmd."""
    chromium.open(single.page)
    rows = [{"a": text} for text in ("=1+1", "@x,y", "-5", -5, "4 KiB", None)]
    table = chromium.run("return csv({ columns: [{ key: 'a' }] }, arguments[0])", rows)
    assert table.splitlines() == ["cell", "'=1+1", '"\'@x,y"', "'-5", "-5", "4 KiB", ""]


def test_files_have_own_names(chromium, simulated, single):
    """On a page, and on pages of other sessions."""
    names = []
    for report in (simulated, single):
        chromium.open(report.page)
        names += chromium.run("return figures.map((f) => fileName(chartOf(f), 'png'))")
    assert len(set(names)) == len(names) > 40


TABLES = (
    FILLED
    + """const found = {};
for (const section of document.querySelectorAll("section.test")) {
  const [head, ...rows] = filled(section.querySelector(".runs details"));
  found[section.querySelector("h2").textContent] =
    rows.map((row) => Object.fromEntries(row.map((text, i) => [head[i], text])));
}
return [found, [...document.querySelectorAll(".runs .scroll")]
  .filter((one) => one.scrollWidth > one.clientWidth).length];"""
)
AXES = {"qd": "queue depth", "read": "read share", "size": "block size"}
AXES["align"] = "alignment"


def test_the_figures_are_those_of_the_store(chromium, single):
    """Each cell of each test's table, as a reader sees it, and sees it whole."""
    chromium.open(single.page)
    shown, cut = chromium.run(TABLES)
    assert cut == 0
    with Store.open(single.store) as store:
        runs = [r for r in store.records(single.sessions[0]) if r.asked.kind == "run"]
    alone = [r for r in runs if not r.asked.round]  # of rounds these are means: below
    assert len(alone) > 60
    for record in alone:
        cell = {AXES.get(n, n): text for n, text in record.asked.cell.items()}
        row = next(r for r in shown[record.asked.test] if cell.items() <= r.items())
        total, latency = record.total, record.total.latency
        assert row["IOPS"].split()[0] == iops_text(total.iops)
        assert row["throughput"] == metric_text(total.bandwidth_bytes_per_s, "B/s")
        assert row["mean"] == latency_text(latency.mean_ns)
        assert row["max"] == latency_text(latency.max_ns)
        for kept in latency.percentiles:
            if text := row.get(f"p{kept.percent:g}"):
                known = kept.latency_ns if kept.supported else None
                assert text == latency_text(known)


def test_the_points_are_those_of_the_store(chromium, single):
    """Rounds: each point of the heatmap is the figure over the last window."""
    id = chromium.drawn_one(single.page, "IOPS by block size and read share")
    rows = chromium.chart(id, "chart.rows")
    with Store.open(single.store) as store:
        records = [r for r in store.records(single.sessions[0]) if r.asked.round]
        last = max(r.asked.round for r in records)
        window = [r for r in records if r.asked.round > last - 5]
        for row in rows:
            cell = {"size": row["x"], "read": row["row"]}
            found = [r for r in window if r.asked.cell == cell]
            assert len(found) == 5
            assert row["y"] == Reader(store).figure(Metric(name="iops"), found).value
    assert len(rows) == 4


PIVOT = """const figure = figures.find((f) =>
  f.querySelector("code")?.textContent === "chart table iops, mean, max");
come(figure);
return [...figure.querySelectorAll(".pivot tr")]
  .map((tr) => [...tr.children].map((cell) => cell.textContent));"""


def test_a_table_needs_no_axis(chromium, simulated):
    """Of one point, a row a session and a column a figure."""
    chromium.open(simulated.page)
    head, *rows = chromium.run(PIVOT)
    latencies = ["mean latency", "largest latency"]
    assert head == ["session", "IOPS", *latencies]
    with Store.open(simulated.store) as store:
        for row, session in zip(rows, simulated.sessions, strict=True):
            (found,) = store.records(session, "Consistency")
            latency = found.total.latency
            latencies = [latency_text(latency.mean_ns), latency_text(latency.max_ns)]
            assert row[1:] == [iops_text(found.total.iops), *latencies]


def test_a_failed_cell_is_a_mark_no_point(chromium, failed):
    """Of four queue depths two failed, the last one too: the axis has it."""
    id = chromium.drawn_one(failed.page, "IOPS by queue depth")
    plot = f"#{id} .plot"
    assert len(chromium.texts(f"{plot} path[aria-roledescription='circle']")) == 2
    assert chromium.texts(f"{plot} .mark-text text").count(FAILED) == 2
    assert set(SWEPT) <= set(chromium.texts(f"{plot} .role-axis-label text"))
    notes = chromium.texts(f"#{id} .notes li")
    assert any(note.startswith(f"{FAILED} failed or stopped") for note in notes)
    states = {row[0]: row[-2] for row in chromium.table_of_runs()}
    assert states == {"1": "ok", "2": "✕ failed", "4": "ok", "8": "✕ failed"}
    assert chromium.said() == []


def test_a_point_tells_its_figures(chromium, single):
    """To a mouse; and the keyboard reaches every point."""
    id = chromium.drawn_one(single.page, "Throughput by queue depth")
    points = f"#{id} .plot path[aria-roledescription='circle']"
    found = chromium.driver.find_elements(By.CSS_SELECTOR, points)
    assert len(found) == 8
    chromium.run("arguments[0].scrollIntoView({block: 'center'})", found[3])
    ActionChains(chromium.driver).move_to_element(found[3]).perform()
    hint = chromium.run("return box.hidden ? '' : box.innerText")
    row = chromium.chart(id, "chart.rows[3]")
    assert metric_text(row["y"], "B/s") in hint and "queue depth" in hint

    plot = chromium.driver.find_element(By.CSS_SELECTOR, f"#{id} .plot")
    chromium.run("arguments[0].focus()", plot)
    hints = []
    for _ in range(8):
        plot.send_keys(Keys.ARROW_RIGHT)
        hints.append(plot.find_element(By.XPATH, "../p[@class='hint']").text)
    firsts = [text.split(",")[0] for text in hints]
    assert firsts == [f"queue depth {2**n}" for n in range(8)]
    assert len(chromium.texts(RING.format(id))) == 1


UNREACHED = """
return [...document.querySelectorAll(".scroll")]
  .filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex < 0)
  .map((one) => one.textContent.slice(0, 80));
"""


def test_what_scrolls_has_the_keyboard(chromium, simulated):
    """Of what is wider than its place."""
    chromium.drawn(simulated.page)
    chromium.run(
        "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
    )
    for width, least in ((390, 3), (2400, 0)):
        chromium.size(width)
        time.sleep(0.5)
        assert chromium.run(UNREACHED) == []
        assert len(chromium.texts('.scroll[tabindex="0"]')) >= least
