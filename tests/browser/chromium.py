"""A real Chromium without a window, which keeps what its pages say and ask for."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

from command import ioplan, plan_file
from msgspec import Struct
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from sim_batches import rough

MOUSE = "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    f"--blink-settings={MOUSE}",
)
LOCAL = ("file:", "blob:", "data:")


def left_out():
    """Why there is no browser here; empty where there is one."""
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    if not missing:
        return ""
    return f"LEFT OUT: no {' and no '.join(missing)}: apt install chromium-driver"


class Report(Struct, frozen=True):
    """A page, and the store that it was made from."""

    page: Path
    store: Path
    sessions: list[str]


def reported(folder, text, size, code=0):
    """The report of a plan that has run on a simulated drive."""
    page, place = folder / "report.html", ("--store", folder / "results.db")
    call = ("run", plan_file(folder, text), "--backend", "sim", "--create", size, "-q")
    with rough():
        done = ioplan(*call, *place)
    assert done.code == code, done.err
    done = ioplan("report", "last", *place, "-o", page)
    assert done.code == 0, done.err
    return Report(page, folder / "results.db", ["last"])


class Browser:
    """One page at a time."""

    def __init__(self, driver, downloads):
        self.driver, self.downloads = driver, downloads
        self.unchanged = None

    def open(self, page, width=1280, height=900):
        """Open a file in a window of this size."""
        self.unchanged = None
        self.size(width, height)
        self.driver.get(page.as_uri())

    def size(self, width, height=900):
        """Set the size of the window."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.tell("Emulation.setDeviceMetricsOverride", **metrics, mobile=width < 600)

    def run(self, script, *arguments):
        """Run a function's body in the page; a promise is waited for."""
        return self.driver.execute_script(script, *arguments)

    def chart(self, id, expression):
        """What an expression says of `chart`, that of a figure."""
        script = "const chart = chartOf(document.getElementById(arguments[0])); return "
        return self.run(script + expression, id)

    def tell(self, command, **options):
        """A command of Chromium's own protocol."""
        return self.driver.execute_cdp_cmd(command, options)

    def said(self):
        """What the console has got since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self):
        """What the page has fetched from elsewhere, since it was last asked."""
        entries = self.driver.get_log("performance")
        events = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [e for e in events if e["method"] == "Network.requestWillBeSent"]
        urls = [event["params"]["request"]["url"] for event in sent]
        return [url for url in urls if not url.startswith(LOCAL)]

    def drawn(self, page, width=1280):
        """Open a page, draw all of it; the ids of its drawn figures."""
        self.open(page, width)
        self.run(DRAW_ALL)
        return self.run(DRAWN)

    def drawn_one(self, page, title):
        """Open a page, draw the figure of a title; its id."""
        self.open(page)
        id = self.figure(title)
        self.run("come(document.getElementById(arguments[0]))", id)
        return id

    def looked_at(self, page):
        """As `drawn`, for tests that leave a page as it is: once for those in a row."""
        if self.unchanged != page:
            self.drawn(page)
        self.unchanged = page
        return self.run(DRAWN)

    def table_of_runs(self):
        """The rows of the first table of runs, without its head, as they are shown."""
        script = (
            f"{FILLED} return filled(document.querySelector('.runs details')).slice(1)"
        )
        return self.run(script)

    def choose(self, option, value, within=""):
        """Choose a value in the select that has such an option, or such a name."""
        self.run(CHOOSE, option, value, within)

    def texts(self, selector):
        """Of all elements that a selector finds."""
        return self.run(TEXTS, selector)

    def sessions_of(self):
        """Their labels, in the order of the page."""
        script = "return [...document.querySelectorAll('#sessions input')].map((i) => i.value)"
        return self.run(script)

    def figure(self, title):
        """The id of the figure of a title."""
        script = """return figures.find((f) =>
          f.querySelector("h3").textContent === arguments[0])?.id"""
        found = self.run(script, title)
        assert found, title
        return found

    def click(self, id, text):
        script = """[...document.getElementById(arguments[0]).querySelectorAll("button")]
          .find((button) => button.textContent === arguments[1]).click()"""
        self.run(script, id, text)

    def dragged(self, id, share):
        """Drag from the middle of a figure's plot over that share of its width."""
        (plot,) = self.driver.find_elements(By.CSS_SELECTOR, f"#{id} .plot svg")
        self.run("arguments[0].scrollIntoView({block: 'center'})", plot)
        drag = ActionChains(self.driver).move_to_element_with_offset(plot, 0, -60)
        across = min(share * plot.size["width"], plot.size["width"] / 2 - 20)
        drag.click_and_hold().move_by_offset(int(across), 5).release().perform()


@contextmanager
def browser(downloads):
    """A browser that saves its downloads in a folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for option in OPTIONS:
        options.add_argument(option)
    logs = {"browser": "ALL", "performance": "ALL"}
    options.set_capability("goog:loggingPrefs", logs)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(180)  # charts of many drives, beside busy processes
    try:
        found = Browser(driver, downloads)
        folder = {"behavior": "allow", "downloadPath": str(downloads)}
        found.tell("Browser.setDownloadBehavior", **folder)
        yield found
    finally:
        driver.quit()


DRAW_ALL = "figures.forEach(come);"
DRAWN = "return figures.filter((f) => f.querySelector('.plot')).map((f) => f.id)"
FILLED = """
const told = (row) => [...row.children].map((cell) => cell.textContent);
const filled = (details) => {
  details.open = true;
  if (!details.querySelector("table")) fillTable(details);
  return [...details.querySelectorAll("tr")].map(told);
};
"""
CHOOSE = """
const [sought, value, within] = arguments;
const select = [...document.querySelectorAll(`${within} select`)].find((one) =>
  one.getAttribute("aria-label") === sought
  || [...one.options].some(({ text }) => text === sought));
select.value = value;
select.dispatchEvent(new Event("change"));
"""
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.trim())"
WIDER = "return document.documentElement.scrollWidth - innerWidth"
RING = "#{} .plot path[aria-roledescription='point'][stroke='#888888']"
"""The mark around the point that is looked at, in a figure."""
