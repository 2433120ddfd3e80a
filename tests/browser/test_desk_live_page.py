"""A job's charts in a real browser: they grow, and the page is not loaded again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from chromium import Browser, browser, left_out
from desks import desk_in, token_of

from ioplan_lab import Desk, LaneCall, LaneState, create_app

pytestmark = pytest.mark.slow

JOB = "20261125-120000-abcdef"
SIGN_IN = """document.getElementById("token").value = arguments[0];
  document.querySelector("button.main").click()"""
POINTS = """return [...document.querySelectorAll("#live svg")].map((chart) =>
  [...chart.querySelectorAll("polyline")].map((line) =>
    line.getAttribute("points").split(" ").length))"""


@contextmanager
def served(desk: Desk) -> Iterator[str]:
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
    found = []
    for number in (1, 2):
        same: dict[str, Any] = {
            "job": JOB,
            "session": f"{JOB}-{number}",
            "target": f"d{number}",
        }
        call = LaneCall(
            **same, title="P", where="all", host="h1", plan="p", files={}, lab=""
        )
        state = LaneState(
            **same, host="h1", status="running", iops=1e5, p99_ns=9e4, at_s=at_s
        )
        found.append((call, state))
    desk.inventory.report(found)


def until(browser: Browser, wanted: list[list[int]]) -> None:
    """The charts have lines of so many points."""
    end_s = time.monotonic() + 60
    while (seen := browser.run(POINTS)) != wanted:
        assert time.monotonic() < end_s, seen
        time.sleep(0.2)


@pytest.mark.skipif(bool(left_out()), reason=left_out())
@pytest.mark.long
def test_charts_grow_without_a_reload(tmp_path: Path) -> None:
    now_s = time.time()
    with (
        desk_in(tmp_path) as desk,
        served(desk) as url,
        browser(tmp_path / "downloads") as chromium,
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
        assert chromium.run("return document.documentElement.scrollWidth") <= 400
        assert chromium.said() == []
