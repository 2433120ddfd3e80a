"""Thirty drives: their spread, panels of twenty, highlights, names at ends of lines."""

import itertools
from statistics import median

import pytest
from chromium import RING, WIDER
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sessions import LEAST_IOPS, SLOW, SWEPT, drive_iops

from targets import wait_for

pytestmark = pytest.mark.slow
TITLE = "IOPS by queue depth"
DRAWN = """
{ mode: chart.mode, rows: drawnRows(chart), named: chart.named ?? [],
  note: chart.figure.querySelector(".made").textContent }
"""
SHOW_ONLY = """
document.querySelectorAll("#sessions input[type=checkbox]").forEach((input, i) => {
  if (input.checked === i < arguments[0]) return;
  input.checked = i < arguments[0];
  input.dispatchEvent(new Event("change", { bubbles: true }));
});
"""
WAYS = "How to draw many series"


def shown(chromium, id):
    return chromium.chart(id, DRAWN.strip())


ENDS = """return [...document.querySelectorAll(
    `#${arguments[0]} .plot .mark-text.role-mark text`)]
  .map((text) => [text.textContent, text.getBoundingClientRect().top])"""


@pytest.mark.long
def test_many_are_a_median_and_outliers(chromium, drives):
    """With a band; outliers are named."""
    id = chromium.drawn_one(drives.page, TITLE)
    found, slow = shown(chromium, id), f"Drive {SLOW:02}"
    assert found["mode"] == "spread" and found["named"] == [slow]
    assert len(chromium.texts(f"#{id} .plot .mark-area path")) == 1
    assert "median of 30 sessions" in found["note"]
    middles = {r["x"]: r["y"] for r in found["rows"] if r.get("role") == "spread"}
    assert middles == {
        int(qd): median(drive_iops(number, qd) for number in range(30)) for qd in SWEPT
    }
    chromium.choose("Which series to highlight", "Drive 20", f"#{id}")
    assert sorted(shown(chromium, id)["named"]) == [slow, "Drive 20"]
    assert chromium.texts(RING.format(id)) == []
    ends = sorted(text for text, _ in chromium.run(ENDS, id))
    assert ends == [slow, "Drive 20", f"iops > {LEAST_IOPS:_}"]
    assert chromium.said() == []


@pytest.mark.long
def test_fewer_have_panels_and_few_share_one(chromium, drives):
    """As many as are shown decide, until the reader does."""
    id = chromium.drawn_one(drives.page, TITLE)
    chromium.run(SHOW_ONLY, 12)
    found = shown(chromium, id)
    assert found["mode"] == "apart"
    assert {row["panel"] for row in found["rows"]} == set(range(12))
    backs = [row for row in found["rows"] if row.get("role") == "back"]
    assert len(backs) == 12 * len(SWEPT) and chromium.run(WIDER) <= 0
    chromium.run(SHOW_ONLY, 3)
    assert shown(chromium, id)["mode"] == "together"
    chromium.choose(WAYS, "apart", f"#{id}")
    assert shown(chromium, id)["mode"] == "apart"
    assert chromium.said() == []


OPACITIES = """return [...document.querySelectorAll(
  `#${arguments[0]} .plot .mark-line path`)].map((p) => +(p.getAttribute("opacity") ?? 1))"""


@pytest.mark.long
def test_one_series_is_looked_at(chromium, drives):
    """By its name at the chart, or its entry in the legend.

    Names of drives that are as fast as one another do not cover one another.
    """
    id = chromium.drawn_one(drives.page, TITLE)
    chromium.run(SHOW_ONLY, 8)
    tops = sorted(top for text, top in chromium.run(ENDS, id) if text[:5] == "Drive")
    assert len(tops) == 8
    assert all(after - before > 11 for before, after in itertools.pairwise(tops))
    legend = f"#{id} .plot .role-legend-label text"
    name = f"#{id} .plot .mark-text.role-mark text"
    for count, selector in ((6, legend), (3, name)):
        chromium.run(SHOW_ONLY, count)
        assert chromium.run(OPACITIES, id) == [1] * count
        entries = chromium.driver.find_elements(By.CSS_SELECTOR, selector)
        (entry,) = (one for one in entries if one.text == "Drive 01")
        chromium.run("arguments[0].scrollIntoView({block: 'center'})", entry)
        entry.click()
        faded = [one < 0.5 for one in chromium.run(OPACITIES, id)]
        assert faded == [number != 1 for number in range(count)]
        assert chromium.chart(id, "chart.lit") == "Drive 01"
        entry.click()
    assert chromium.texts(legend) == []  # few lines have their names beside them


def test_a_drive_has_its_colour_everywhere(chromium, drives):
    """Eight have one; the others are grey, with their names beside them."""
    id = chromium.drawn_one(drives.page, TITLE)
    styles = chromium.chart(
        id, "texts(chart, seriesKey(chart)).map((one) => STYLES.get(one))"
    )
    assert len({(one["light"], one["shape"]) for one in styles[:8]}) == 8
    assert {one["name"] for one in styles[8:]} == {"drive-other"}
    chips = (
        "[...document.querySelectorAll('.drives button')].map((one) => one.className)"
    )
    assert chromium.run(f"return {chips}") == [one["name"] for one in styles]
    chromium.run(SHOW_ONLY, 2)
    scale, colours = (
        "chart.view.scale('color').range()",
        [s["light"] for s in styles[:2]],
    )
    wait_for(lambda: chromium.chart(id, scale)[:2] == colours)  # it is drawn anew


@pytest.mark.long
def test_arrows_go_along_and_between_series(chromium, drives):
    """What is told is the point; a series that is not drawn yet is drawn then."""
    id = chromium.drawn_one(drives.page, TITLE)
    plot = chromium.driver.find_element(By.CSS_SELECTOR, f"#{id} .plot")
    chromium.run("arguments[0].focus()", plot)

    def pressed(*keys):
        for key in keys:
            plot.send_keys(key)
        return plot.find_element(By.XPATH, "../p[@class='hint']").text

    right, down = Keys.ARROW_RIGHT, Keys.ARROW_DOWN
    assert pressed(right).startswith("session Drive 00, queue depth 1,")
    text = pressed(right, down, down)
    assert text.startswith("session Drive 02, queue depth 2,")
    assert "Drive 02" in shown(chromium, id)["named"]
    text = pressed(Keys.ARROW_UP, Keys.END)
    assert text.startswith("session Drive 01, queue depth 8")
    assert len(chromium.texts(RING.format(id))) == 1
    pressed("+")
    assert chromium.chart(id, "chart.zoom[0] > 2")
    pressed(Keys.ESCAPE)
    assert chromium.chart(id, "[chart.lit, chart.zoom]") == ["", None]
    assert chromium.said() == []


@pytest.mark.long
def test_a_screen_reader_gets_a_summary(chromium, drives):
    """And not the drawing."""
    id = chromium.drawn_one(drives.page, TITLE)
    chromium.run(SHOW_ONLY, SLOW + 1)
    script = "return document.getElementById(`${arguments[0]}-told`).innerText"
    first, *_, last = chromium.run(script, id).rstrip(".").split("; ")
    assert first == "8 series. Drive 00: 4 points, 100k to 800k"
    assert last.startswith(f"Drive {SLOW:02}: 4 points, ")
    assert last.endswith(", 3 failed")
    tree = chromium.tell("Accessibility.getFullAXTree")["nodes"]
    heard = [node for node in tree if not node["ignored"]]
    said = [node["name"]["value"] for node in heard if node.get("name")]
    assert any(text.startswith(f"{TITLE}. Left and right") for text in said)
    assert "graphics-document" not in {node["role"]["value"] for node in heard}
