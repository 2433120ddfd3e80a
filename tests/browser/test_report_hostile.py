"""What others wrote is shown as text: no script of theirs runs in a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Browser
from command import ioplan
from figures import run
from sessions import put

pytestmark = pytest.mark.slow

EVIL = (
    "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
    "<!--<script>{{ 7 * 7 }}&amp;\u2028\"'`${window.hacked=3}"
)


IDENTITY = {"model": EVIL, "firmware": EVIL, "serial": EVIL}
HOSTILE = {
    "target": {"path": EVIL, "capacity_bytes": 1 << 30, "identity": IDENTITY},
    "warnings": (EVIL,),
    "substitutions": (EVIL,),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a session whose every text is hostile."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    store = tmp_path / "results.db"
    runs = [
        run(seq, test=EVIL, cell={"qd": qd, EVIL: EVIL + qd}, **HOSTILE)
        for seq, qd in enumerate(("1", "2", EVIL), start=1)
    ]
    lost = run(4, test=EVIL, status="failed", message=EVIL)
    about = {"plan": EVIL, "plan_file": EVIL, "backend": EVIL, "target": EVIL}
    put(store, *runs, lost, **about)
    done = ioplan("report", "last", "--store", store, "-o", tmp_path / "report.html")
    assert done.code == 0, done.err
    return tmp_path / "report.html"


def test_no_script_of_theirs_runs(chromium: Browser, page: Path) -> None:
    chromium.said()
    chromium.open(page)
    chromium.run("figures.forEach(come)")
    chromium.run(
        "document.querySelectorAll('details').forEach((d) => { d.open = true })"
    )
    assert chromium.run("return window.hacked") is None
    assert chromium.run("return document.images.length") == 0
    kinds = chromium.run("return [...document.scripts].map((s) => s.type)")
    assert kinds.count("") == 2
    assert chromium.said() == []


def test_their_words_are_seen(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    heading = chromium.run("return document.querySelector('h1').textContent")
    assert heading == f"SIMULATED {EVIL}"
    shown = chromium.run("return document.body.innerText")
    assert shown.count("window.hacked=1") > 8


@pytest.mark.long
def test_a_script_that_is_put_in_cannot_run(chromium: Browser, page: Path) -> None:
    """The policy holds even where the escaping would not."""
    broken = page.with_name("broken.html")
    text = page.read_text()
    assert "<main id=" in text
    broken.write_text(
        text.replace("<main id=", "<script>window.hacked=4</script><main id=", 1)
    )
    chromium.open(broken)
    assert chromium.run("return window.hacked") is None
    assert any("Content Security Policy" in line for line in chromium.said())
