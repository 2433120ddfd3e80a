"""The first screen of a report, and what a reader does with a page, kept in its address."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, Report, click, drawn_one, figure
from command import ioplan
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import SLOW, SWEPT
from sim_batches import rough

from ioplan.results.report import league_of
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

HEIGHT = 900

SHOWN = """
return [...document.querySelectorAll("#main > nav .glance tbody tr")].map((row) => ({
  head: (row.querySelector("th a") ?? {}).textContent,
  figures: [...row.querySelectorAll("b")].map((b) => b.textContent).filter(Boolean),
  bottom: row.getBoundingClientRect().bottom + scrollY,
}));
"""

FAILS = """
test "All of it" {
  run    random 4KiB, qd 1 for 100ms
  vary   qd in 1..64 doubling
  vary   read in 100%, 70%, 30%, 0%
  expect iops >= 50_000_000 iops
  expect p99 <= 1us
}
"""


@pytest.fixture(scope="module")
def unmet(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """28 cells in which nothing that was expected held."""
    folder = tmp_path_factory.mktemp("unmet")
    plan, store, page = (folder / name for name in ("p.ioplan", "r.db", "r.html"))
    plan.write_text(FAILS)
    where = ("--store", store)
    run = ("run", plan, "--backend", "sim", "--create", "64MiB", "-q", *where)
    with rough():
        assert ioplan(*run).code == 1
    assert ioplan("report", "last", "-o", page, *where).code == 0
    return Report(page, store, ["last"])


@pytest.mark.long
@pytest.mark.parametrize("which", ["simulated", "failed", "unmet"])
def test_each_test_has_a_figure_on_the_first_screen(
    chromium: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    report: Report = request.getfixturevalue(which)
    chromium.open(report.page, 1280, HEIGHT)
    rows = chromium.run(SHOWN)
    tests = "return [...document.querySelectorAll('section.test h2')].map((h) => h.innerText.trim())"
    titles = chromium.run(tests)
    shown = [row for row in rows if row["bottom"] <= HEIGHT]
    assert [row["head"] for row in shown if row["head"]] == titles
    assert all(row["figures"] for row in shown)


@pytest.mark.long
def test_what_failed_is_told_in_a_few_lines(chromium: Browser, unmet: Report) -> None:
    """56 expectations did not hold; the first chart is on the second screen."""
    chromium.open(unmet.page, 1280, HEIGHT)
    lines = "return document.querySelectorAll('section.test > .judged li').length"
    assert chromium.run(lines) <= 6
    top = "return document.querySelector('figure.chart').getBoundingClientRect().top"
    assert chromium.run(top) < 2 * HEIGHT


@pytest.mark.long
def test_a_league_has_a_base_and_ranks(chromium: Browser, simulated: Report) -> None:
    chromium.open(simulated.page, 1280, HEIGHT)
    text = chromium.run("return document.querySelector('#main > nav').innerText")
    assert "Geometric mean" in text
    assert "base, rank" in text
    assert text.count("rank ") == 2
    assert "×" in text


def test_the_tests_of_a_long_page_are_listed(chromium: Browser, tmp_path: Path) -> None:
    plan, page = tmp_path / "a.ioplan", tmp_path / "a.html"
    tests = "".join(
        f'test "T{n}" {{ run random 4KiB 100/0 for 20ms\n vary qd in 1, 2 }}\n'
        for n in range(4)
    )
    plan.write_text(tests)
    store = ("--store", tmp_path / "a.db")
    assert (
        ioplan("run", plan, "--backend", "sim", "--create", "16MiB", *store).code == 0
    )
    assert ioplan("report", "last", *store, "-o", page).code == 0
    chromium.open(page, width=1600)
    links = """
      return [...document.querySelectorAll(".side a")].map((a) => a.textContent.trim())
    """
    assert chromium.run(links) == ["Results", "T0", "T1", "T2", "T3"]
    apart = """
      const [side, main] = [".side", "main"].map(
        (name) => document.querySelector(name).getBoundingClientRect());
      return side.width > 0 && side.right <= main.left + 1;
    """
    assert chromium.run(apart)
    chromium.run("document.getElementById('test-3').scrollIntoView()")
    current = (
        "return document.querySelector('.side [aria-current]')?.textContent.trim()"
    )
    deadline_s = time.monotonic() + 20
    while chromium.run(current) != "T2":
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    chromium.size(390)
    assert chromium.run("return document.querySelector('.side').offsetWidth") == 0


RATIOS = """
return [...document.querySelectorAll("#main > nav .glance tr")].map((row) =>
  [...row.querySelectorAll("td small:not(.note)")].map((one) => one.textContent));
"""


def test_a_select_changes_the_ratios(chromium: Browser, simulated: Report) -> None:
    chromium.open(simulated.page, 1280, HEIGHT)
    labels = chromium.run(
        "return [...document.querySelectorAll('#sessions input')].map((one) => one.value)"
    )
    before = chromium.run(RATIOS)
    choose = """
      const select = [...document.querySelectorAll("select")].find(
        (one) => [...one.options].some(({ text }) => text === "no ratios"));
      select.value = arguments[0];
      select.dispatchEvent(new Event("change"));
    """
    chromium.run(choose, labels[1])
    after = chromium.run(RATIOS)
    figures = [(a, b) for a, b in zip(before, after, strict=True) if len(a) == 2]
    assert len(figures) > 4
    for first, second in figures:
        if first[1].endswith("×"):
            assert first[0].startswith("base") and second[1].startswith("base")
            product = float(first[1][:-1]) * float(second[0][:-1])
            assert product == pytest.approx(1, abs=0.02)
    note = chromium.run("return document.querySelector('.glance-note').textContent")
    assert f"Ratios are to {labels[1]};" in note
    chromium.run(choose, labels[0])
    assert chromium.run(RATIOS) == before


def test_on_a_phone_no_figure_is_cut_off(chromium: Browser, simulated: Report) -> None:
    chromium.open(simulated.page, 390, 844)
    outside = """
      const edge = document.querySelector("#main > nav").getBoundingClientRect().right;
      const cells = [...document.querySelectorAll("#main > nav .glance td")];
      return [cells.length, cells.filter((td) => td.scrollWidth > td.clientWidth
        || td.getBoundingClientRect().right > edge).map((td) => td.textContent)];
    """
    count, cut = chromium.run(outside)
    assert count > 8 and cut == []
    named = "return [...document.querySelectorAll('#main > nav .glance td')].map((td) => td.dataset.label)"
    assert all(chromium.run(named))


RANKED = """
const by = document.getElementById("ranked-by");
by.closest("details").open = true;
return [...by.options].map((option) => {
  by.value = option.value;
  by.dispatchEvent(new Event("change"));
  const shown = [...document.querySelectorAll(".ranked > div")].filter((div) => !div.hidden);
  return [option.textContent, shown.length, shown[0].textContent.includes("More is better"),
    [...shown[0].querySelectorAll("li")].map((li) => [
      li.dataset.label, li.querySelector("b").textContent, li.querySelector("rect").getBBox().width,
    ])];
});
"""


def test_sessions_rank_by_any_headline(chromium: Browser, simulated: Report) -> None:
    """The lengths of the bars are as the figures of the store, the best first."""
    with Store.open(simulated.store) as store:
        sessions = [store.session(one) for one in simulated.sessions]
        league = league_of(store, sessions)
    assert league
    known = {
        f"{one.test}: {one.name}": {
            label: headline.value for label, headline in one.of.items()
        }
        for one in league.contests
    }
    chromium.open(simulated.page, 1280, HEIGHT)
    found = chromium.run(RANKED)
    assert len(found) > 3
    for name, shown, more, bars in found:
        assert shown == 1
        values = [known[name][label] for label, _, _ in bars]
        assert values == sorted(values, reverse=more)
        (first, second), widths = values[:2], [width for _, _, width in bars]
        assert widths[0] / widths[1] == pytest.approx(first / second, rel=0.01)


@pytest.mark.long
def test_a_hidden_session_has_no_bar(chromium: Browser, simulated: Report) -> None:
    chromium.open(simulated.page, 1280, HEIGHT)
    chromium.run("document.querySelector('#sessions input').click()")
    bars = "return [...document.querySelectorAll('.bars li')].filter((li) => !li.hidden).length"
    every = chromium.run("return document.querySelectorAll('.bars li').length")
    assert chromium.run(bars) == every / 2


TITLE = "IOPS by queue depth"

TABLE = """
const details = document.querySelector(".runs details");
details.open = true;
if (!details.querySelector("table")) fillTable(details);
return [...details.querySelectorAll("tbody tr")]
  .map((tr) => [...tr.children].map((cell) => cell.textContent));
"""


def shown_x(chromium: Browser, id: str) -> set[float]:
    """Where the rows that are drawn stand."""
    return set(
        chromium.chart(id, "zoomed(chart, shownRows(chart)).map((row) => row.x)")
    )


def typed(chromium: Browser, label: str, text: str) -> None:
    field = chromium.driver.find_element(By.CSS_SELECTOR, f"[aria-label='{label}']")
    field.send_keys(text)


def hide_all_but(chromium: Browser, words: str) -> Any:
    typed(chromium, "Filter sessions", words)
    return chromium.run("return about.sources.length - hidden.size")


@pytest.mark.long
def test_tables_sort_and_filter(chromium: Browser, drives: Report) -> None:
    """By what a column means: axes in their order, figures by size."""
    chromium.open(drives.page)
    rows = chromium.run(TABLE)
    assert len(rows) == 30 * len(SWEPT)
    for key, name in ((1, "queue depth"), (2, "IOPS")):
        head = chromium.driver.find_element(
            By.CSS_SELECTOR, f".runs [aria-label='Sort by {name}']"
        )
        for sign in (1, -1):
            head.send_keys(Keys.ENTER)
            found = [float(row[key].replace(",", "")) for row in chromium.run(TABLE)]
            assert found == sorted(found, reverse=sign < 0)
    assert head.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    chromium.run("document.querySelector('.runs [type=search]').focus()")
    typed(chromium, "Filter rows", f"drive {SLOW:02}")
    shown = chromium.run(TABLE)
    assert len(shown) < len(rows) / 2
    assert all(f"{SLOW:02}" in " ".join(row) for row in shown)
    assert [row[0] for row in shown].count(f"Drive {SLOW:02}") == len(SWEPT)


@pytest.mark.long
def test_the_address_keeps_what_was_chosen(chromium: Browser, drives: Report) -> None:
    """Sessions, scale, way of drawing, highlight, zoom, and the table's order."""
    id = drawn_one(chromium, drives.page, TITLE)
    assert chromium.run("return location.hash") == ""
    assert hide_all_but(chromium, "f1 k01") == 5
    click(chromium, id, "y: linear")
    script = """const chart = chartOf(document.getElementById(arguments[0]));
      keep(chart, "Drive 13"); chart.chosen = "together"; zoomTo(chart, [2, 4]);
      document.querySelector(".runs .sort").click();"""
    chromium.run(TABLE)
    chromium.run(script, id)
    hash = chromium.run("return location.hash")
    chromium.driver.get("about:blank")
    chromium.driver.get(f"{drives.page.as_uri()}{hash}")
    chromium.run("figures.forEach(come)")
    chromium.run(TABLE)
    state = """const chart = chartOf(document.getElementById(arguments[0]));
      const { sort } = tableViews.get(document.querySelector(".runs details").dataset.rows);
      return [chart.lit, chart.mode, chart.state.y, chart.zoom, sort, location.hash,
        about.sources.length - hidden.size,
        [...document.querySelectorAll("#sessions input:checked")].length]"""
    sort = {"at": 0, "up": True}
    assert chromium.run(state, id) == [
        *("Drive 13", "together", "log", [2, 4], sort, hash, 5, 5)
    ]
    assert shown_x(chromium, id) == {2, 4}
    assert chromium.said() == []


WRONG = (
    "#test-1&hide=999,-1,x&base=77&&=&hide&constructor=y.log&nothing=<script>"
    "&test-1-chart-1=y.no,mode.no,lit.1e9,zoom.9:1,zoom.a:b,pick.no:1,.,x"
    "&t-test-1-runs=sort.99,words.%"
)


def test_a_wrong_address_does_nothing(chromium: Browser, drives: Report) -> None:
    chromium.driver.get("about:blank")
    chromium.driver.get(f"{drives.page.as_uri()}{WRONG}")
    id = figure(chromium, TITLE)
    chromium.run("come(document.getElementById(arguments[0]))", id)
    assert len(chromium.run(TABLE)) == 30 * len(SWEPT)
    assert chromium.run("return [hidden.size, compared.base]") == [0, ""]
    assert shown_x(chromium, id) == {int(qd) for qd in SWEPT}
    assert chromium.said() == []


@pytest.mark.long
def test_a_drag_zooms_and_a_button_goes_back(chromium: Browser, drives: Report) -> None:
    """From the middle of the plot to its right end, on a logarithmic axis."""
    id = drawn_one(chromium, drives.page, TITLE)
    (plot,) = chromium.driver.find_elements(By.CSS_SELECTOR, f"#{id} .plot svg")
    chromium.run("arguments[0].scrollIntoView({block: 'center'})", plot)
    width = plot.size["width"]
    drag = ActionChains(chromium.driver).move_to_element_with_offset(plot, 0, -60)
    drag.click_and_hold().move_by_offset(int(width / 2) - 20, 5).release().perform()
    assert shown_x(chromium, id) == {4, 8}
    click(chromium, id, "whole range")
    assert shown_x(chromium, id) == {1, 2, 4, 8}
    assert "zoom" not in chromium.run("return location.hash")
