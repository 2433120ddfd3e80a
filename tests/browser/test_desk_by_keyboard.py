"""A person at the desk in Chromium, by keyboard; one who may only look; charts that grow."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from chromium import WIDER, Browser, browser, left_out
from command import ioplan, plan_file
from desks import desk_in, token_of
from person import Person
from selenium.webdriver.common.by import By

from ioplan_lab import (
    TABLES,
    Desk,
    DeskDatabase,
    LaneCall,
    LaneState,
    People,
    Role,
    create_app,
)

pytestmark = pytest.mark.long
PLAN = """plan "By keyboard"
test "T" {
run random 4KiB 100/0 for 1s
vary qd in 1, 8
expect errors == 0
}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """`ioplan lab serve` without a lab file; where it is, and its folder."""
    folder = tmp_path_factory.mktemp("served")
    store = ("--store", folder / "DATA/ioplan/results.db")
    earlier = plan_file(folder, PLAN)
    assert ioplan("run", earlier, "--backend", "sim", "-q", *store).code == 0
    env = {k: v for k, v in os.environ.items() if not k.startswith("IOPLAN_")}
    for name in ("STATE", "DATA", "CONFIG"):
        env[f"XDG_{name}_HOME"] = str(folder / name)
    words = [
        sys.executable,
        *["-m", "ioplan.cli", "lab", "serve", "--listen", "127.0.0.1:0"],
    ]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert found, "it says where it is"
            yield found[0], folder / "STATE/ioplan/desk"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0, "it ends well on SIGTERM"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def person(served: tuple[str, Path], chromium: Browser) -> Person:
    chromium.size(1280)
    return Person(chromium, served[0])


def token(served: tuple[str, Path], name: str, role: Role) -> str:
    with DeskDatabase.at(None, served[1], TABLES) as database:
        return People(database).add(name, role)


def test_a_plan_is_started_and_compared(
    person: Person, served: tuple[str, Path]
) -> None:
    """By keyboard; its report is in a frame that can reach nothing else."""
    person.sign_in(token(served, "ada", Role.OPERATOR))
    checked = person.start(PLAN, "simulated")
    assert "2.00 s" in checked and "no consent is given" in checked
    assert "What runs now" in person.text()
    person.until(lambda: len(person.ended_jobs()) == 1)
    person.go("Sessions")
    assert "ada" in person.text()
    person.compare_all()
    assert "counts as equal" in person.text() and len(person.compared()) == 2
    person.go(str(person.compared()[0]))
    frame = person.driver.find_element(By.TAG_NAME, "iframe")
    person.driver.switch_to.frame(frame)
    person.until(lambda: "All 2 expectations held" in person.text())
    run = person.driver.execute_script
    charts = "return document.querySelectorAll('figure .plot :is(svg, canvas)').length"
    run("figures.forEach(come)")
    person.until(lambda: run(charts) > 0)
    assert run("return self.origin") == "null"
    person.driver.switch_to.default_content()
    assert person.browser.said() == []


POSTED = """const body = new URLSearchParams({plan: "quick/datasheet", target: "simulated",
    form_token: document.querySelector("[name=form_token]").value});
  return fetch("/start/run", {method: "POST", body}).then((a) => a.status)"""


def test_a_viewer_can_start_nothing(person: Person, served: tuple[str, Path]) -> None:
    person.sign_in(token(served, "eve", Role.VIEWER))
    for page in ("", "sessions", "drives"):
        person.driver.get(person.url + page)
        assert "Start a plan" not in person.text() and "Cancel" not in person.text()
        forms = person.driver.find_elements(By.CSS_SELECTOR, "form[method=post]")
        actions = [form.get_attribute("action") for form in forms]
        assert actions == [f"{person.url}sign-out"]
    person.driver.get(f"{person.url}start")
    assert "this needs the role operator" in person.text()
    assert person.driver.execute_script(POSTED) == 403
    person.browser.said()


NAMELESS = """const all = "input:not([type=hidden]), select, button, a";
  return [...document.querySelectorAll(all)].filter((e) =>
      !(e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent.trim()))
    .map((e) => e.outerHTML)"""


@pytest.mark.parametrize("width", [400, 1400])
def test_pages_fit_and_have_a_heading_and_names(person: Person, width: int) -> None:
    person.browser.size(width)
    for page in ("", "sessions", "drives", "sign-in"):
        person.driver.get(person.url + page)
        assert person.browser.run(WIDER) <= 0, page
        assert person.browser.run(NAMELESS) == []
        assert len(person.driver.find_elements(By.TAG_NAME, "h1")) == 1


JOB = "20261125-120000-abcdef"
SIGN_IN = """document.getElementById("token").value = arguments[0];
  document.querySelector("button.main").click()"""
POINTS = """return [...document.querySelectorAll("#live svg")].map((chart) =>
  [...chart.querySelectorAll("polyline")].map((line) =>
    line.getAttribute("points").split(" ").length))"""


@contextmanager
def pages_of(desk: Desk) -> Iterator[str]:
    """Where the pages are."""
    server = uvicorn.Server(uvicorn.Config(create_app(desk), port=0, log_level="error"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


def report(desk: Desk, at_s: float) -> None:
    """Two lanes as their hosts tell of them."""
    found, call = (
        [],
        {"title": "P", "where": "all", "plan": "p", "files": {}, "lab": ""},
    )
    now = {"status": "running", "iops": 1e5, "p99_ns": 9e4, "at_s": at_s}
    for number in (1, 2):
        same: dict[str, Any] = {"job": JOB, "session": f"{JOB}-{number}", "host": "h1"}
        same["target"] = f"d{number}"
        found.append((LaneCall(**same, **call), LaneState(**same, **now)))
    desk.inventory.report(found)


def until(browser: Browser, wanted: list[list[int]]) -> None:
    """The charts have lines of so many points."""
    end_s = time.monotonic() + 60
    while (seen := browser.run(POINTS)) != wanted:
        assert time.monotonic() < end_s, seen
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.skipif(bool(left_out()), reason=left_out())
def test_charts_grow_without_a_reload(tmp_path: Path) -> None:
    now_s, downloads = time.time(), tmp_path / "downloads"
    with (
        desk_in(tmp_path) as desk,
        pages_of(desk) as url,
        browser(downloads) as chromium,
    ):
        report(desk, now_s)
        chromium.size(400)
        chromium.driver.get(f"{url}/sign-in")
        chromium.run(SIGN_IN, token_of(desk, "viewer"))
        chromium.driver.get(f"{url}/jobs/{JOB}")
        until(chromium, [[2, 2], [2, 2]])  # a point is a line to itself
        chromium.run("window.mark = 1")
        for at in (2, 4):
            report(desk, now_s + at)
        until(chromium, [[3, 3], [3, 3]])
        assert chromium.run("return window.mark") == 1
        assert chromium.run(WIDER) <= 0
        assert chromium.said() == []
