"""The first screen of a report, and what a reader does with a page, kept in its address."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from chromium import Browser, Report, reported
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import SLOW, SWEPT

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
    return reported(tmp_path_factory.mktemp("unmet"), FAILS, "64MiB", code=1)


@pytest.mark.long
@pytest.mark.parametrize("which", ["simulated", "failed", "unmet"])
def test_each_test_has_a_figure_on_the_first_screen(
    chromium: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    """What failed is told in a few lines: of 56 expectations that did not hold the
    first chart is on the second screen. A league has a base, and ranks."""
    chromium.open(request.getfixturevalue(which).page, 1280, HEIGHT)
    titles = chromium.run(TITLES)
    shown = [row for row in chromium.run(SHOWN) if row["bottom"] <= HEIGHT]
    assert [row["head"] for row in shown if row["head"]] == titles
    assert all(row["figures"] for row in shown)
    if which == "unmet":
        assert len(chromium.texts("section.test > .judged li")) <= 6
        assert chromium.run(CHART_TOP) < 2 * HEIGHT
    if which == "simulated":
        text = chromium.run("return document.querySelector('#main > nav').innerText")
        assert all(part in text for part in ("Geometric mean", "base, rank", "×"))
        assert text.count("rank ") == 2


TITLES = """return [...document.querySelectorAll('section.test h2')]
  .map((h) => h.innerText.trim())"""
CHART_TOP = "return document.querySelector('figure.chart').getBoundingClientRect().top"


def test_the_tests_of_a_long_page_are_listed(chromium: Browser, tmp_path: Path) -> None:
    """Beside it, and the one that is read is marked."""
    plan = "".join(
        f'test "T{n}" {{ run random 4KiB 100/0 for 20ms\n vary qd in 1, 2 }}\n'
        for n in range(4)
    )
    chromium.open(reported(tmp_path, plan, "16MiB").page, width=1600)
    assert chromium.texts(".side a") == ["Results", "T0", "T1", "T2", "T3"]
    apart = """
      const [side, main] = [".side", "main"].map(
        (name) => document.querySelector(name).getBoundingClientRect());
      return side.width > 0 && side.right <= main.left + 1;
    """
    assert chromium.run(apart)
    chromium.run("document.getElementById('test-3').scrollIntoView()")
    deadline_s = time.monotonic() + 20
    while chromium.texts(".side [aria-current]") != ["T2"]:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    chromium.size(390)
    assert chromium.run("return document.querySelector('.side').offsetWidth") == 0


RATIOS = """
return [...document.querySelectorAll("#main > nav .glance tr")].map((row) =>
  [...row.querySelectorAll("td small:not(.note)")].map((one) => one.textContent));
"""


def test_a_select_changes_the_ratios(chromium: Browser, simulated: Report) -> None:
    """That below the ranking."""
    chromium.open(simulated.page, 1280, HEIGHT)
    one, other = chromium.sessions_of()
    before = chromium.run(RATIOS)
    chromium.choose("no ratios", other)
    after = chromium.run(RATIOS)
    figures = [(a, b) for a, b in zip(before, after, strict=True) if len(a) == 2]
    assert len(figures) > 4
    for first, second in figures:
        if first[1].endswith("×"):
            assert first[0].startswith("base") and second[1].startswith("base")
            product = float(first[1][:-1]) * float(second[0][:-1])
            assert product == pytest.approx(1, abs=0.02)
    (note, *_) = chromium.texts(".glance-note")
    assert f"Ratios are to {other};" in note
    chromium.choose("no ratios", one)
    assert chromium.run(RATIOS) == before


def test_on_a_phone_no_figure_is_cut_off(chromium: Browser, simulated: Report) -> None:
    """Of a session."""
    chromium.open(simulated.page, 390, 844)
    cells = """
      const edge = document.querySelector("#main > nav").getBoundingClientRect().right;
      return [...document.querySelectorAll("#main > nav .glance td")].map((td) => [
        td.dataset.label, td.scrollWidth > td.clientWidth
        || td.getBoundingClientRect().right > edge]);
    """
    found = chromium.run(cells)
    assert len(found) > 8 and all(label and not cut for label, cut in found)


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
    """The lengths of the bars are as the figures of the store, the best first; a hidden
    session has none."""
    with Store.open(simulated.store) as store:
        league = league_of(store, [store.session(one) for one in simulated.sessions])
    assert league
    known = {
        f"{one.test}: {one.name}": {label: h.value for label, h in one.of.items()}
        for one in league.contests
    }
    chromium.open(simulated.page, 1280, HEIGHT)
    found = chromium.run(RANKED)
    assert len(found) > 3
    for name, shown, more, bars in found:
        assert shown == 1
        values = [known[name][label] for label, _, _ in bars]
        assert values == sorted(values, reverse=more)
        (first, second), (wide, narrow) = values[:2], [bar[2] for bar in bars[:2]]
        assert wide / narrow == pytest.approx(first / second, rel=0.01)
    every = len(chromium.texts(".bars li"))
    chromium.run("document.querySelector('#sessions input').click()")
    assert len(chromium.texts(".bars li:not([hidden])")) == every / 2


TITLE = "IOPS by queue depth"


def shown_x(chromium: Browser, id: str) -> set[float]:
    """Where the rows that are drawn stand."""
    return set(
        chromium.chart(id, "zoomed(chart, shownRows(chart)).map((row) => row.x)")
    )


def typed(chromium: Browser, label: str, text: str) -> None:
    field = chromium.driver.find_element(By.CSS_SELECTOR, f"[aria-label='{label}']")
    field.send_keys(text)


def at_address(chromium: Browser, page: Path, address: str) -> None:
    """As somebody opens it who was sent it."""
    chromium.driver.get("about:blank")
    chromium.driver.get(f"{page.as_uri()}{address}")
    chromium.run("figures.forEach(come)")


@pytest.mark.long
def test_tables_sort_and_filter(chromium: Browser, drives: Report) -> None:
    """By what a column means: axes in their order, figures by size."""
    chromium.open(drives.page)
    rows = chromium.table_of_runs()
    assert len(rows) == 30 * len(SWEPT)
    for key, name in ((1, "queue depth"), (2, "IOPS")):
        sort = f".runs [aria-label='Sort by {name}']"
        head = chromium.driver.find_element(By.CSS_SELECTOR, sort)
        for down in (False, True):
            head.send_keys(Keys.ENTER)
            shown = chromium.table_of_runs()
            found = [float(row[key].replace(",", "")) for row in shown]
            assert found == sorted(found, reverse=down)
    assert head.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    chromium.run("document.querySelector('.runs [type=search]').focus()")
    typed(chromium, "Filter rows", f"drive {SLOW:02}")
    shown = chromium.table_of_runs()
    assert len(shown) < len(rows) / 2
    assert all(f"{SLOW:02}" in " ".join(row) for row in shown)
    assert [row[0] for row in shown].count(f"Drive {SLOW:02}") == len(SWEPT)


CHANGE = """const chart = chartOf(document.getElementById(arguments[0]));
  keep(chart, "Drive 13"); chart.chosen = "together"; zoomTo(chart, [2, 4]);
  document.querySelector(".runs .sort").click();"""
STATE = """const chart = chartOf(document.getElementById(arguments[0]));
  const { sort } = tableViews.get(document.querySelector(".runs details").dataset.rows);
  return [chart.lit, chart.mode, chart.state.y, chart.zoom, sort, location.hash,
    about.sources.length - hidden.size,
    [...document.querySelectorAll("#sessions input:checked")].length]"""


@pytest.mark.long
def test_the_address_keeps_what_was_chosen(chromium: Browser, drives: Report) -> None:
    """Sessions, scale, way of drawing, highlight, zoom, and the table's order."""
    id = chromium.drawn_one(drives.page, TITLE)
    assert chromium.run("return location.hash") == ""
    typed(chromium, "Filter sessions", "f1 k01")
    assert chromium.run("return about.sources.length - hidden.size") == 5
    chromium.click(id, "y: linear")
    chromium.table_of_runs()
    chromium.run(CHANGE, id)
    hash = chromium.run("return location.hash")
    at_address(chromium, drives.page, hash)
    chromium.table_of_runs()
    sort = {"at": 0, "up": True}
    chosen = ["Drive 13", "together", "log", [2, 4], sort, hash, 5, 5]
    assert chromium.run(STATE, id) == chosen
    assert shown_x(chromium, id) == {2, 4} and chromium.said() == []


WRONG = (
    "#test-1&hide=999,-1,x&base=77&&=&hide&constructor=y.log&nothing=<script>"
    "&test-1-chart-1=y.no,mode.no,lit.1e9,zoom.9:1,zoom.a:b,pick.no:1,.,x"
    "&t-test-1-runs=sort.99,words.%"
)


def test_a_wrong_address_does_nothing(chromium: Browser, drives: Report) -> None:
    at_address(chromium, drives.page, WRONG)
    assert len(chromium.table_of_runs()) == 30 * len(SWEPT)
    assert chromium.run("return [hidden.size, compared.base]") == [0, ""]
    assert shown_x(chromium, chromium.figure(TITLE)) == {int(qd) for qd in SWEPT}
    assert chromium.said() == []


@pytest.mark.long
def test_a_drag_zooms_and_a_button_goes_back(chromium: Browser, drives: Report) -> None:
    """From the middle of the plot to its right end, on a logarithmic axis."""
    id = chromium.drawn_one(drives.page, TITLE)
    chromium.dragged(id, 0.5)
    assert shown_x(chromium, id) == {4, 8}
    chromium.click(id, "whole range")
    assert shown_x(chromium, id) == {1, 2, 4, 8}
    assert "zoom" not in chromium.run("return location.hash")
