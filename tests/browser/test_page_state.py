"""What a reader does with a page: sort, filter, zoom; and the address that keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from chromium import Browser, Report, click, drawn_one, figure
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import SLOW, SWEPT

pytestmark = pytest.mark.slow
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


def test_an_address_that_is_wrong_does_nothing(
    chromium: Browser, drives: Report
) -> None:
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
