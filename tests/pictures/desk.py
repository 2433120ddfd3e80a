"""The pictures of docs/desk.md, for `gallery.py`: a desk with simulated drives."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from chromium import Browser

DRIVES = [f"gen5-{at:02}" for at in range(1, 7)]
SHORT = ("quick/datasheet", "--profile", "short", "--quiet")
PAGES = {"desk_now": "", "desk_sessions": "sessions?text=nightly"}
WIDTH, HEIGHT = 1100, 620
COMMAND = [sys.executable, "-m", "ioplan.cli"]


def pictures(chromium: Browser) -> Iterator[tuple[str, bytes]]:
    """Serve, fill, look at each page in the light theme."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        for word in ("STATE", "DATA", "CONFIG"):
            os.environ[f"XDG_{word}_HOME"] = str(folder / word)
        os.environ.pop("IOPLAN_STORE", None)
        lab = lab_file(folder)
        words = [*COMMAND, "lab", "serve", "--listen", "127.0.0.1:0", "--lab", str(lab)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            url = process.stdout.readline().split()[-1]
            token = process.stdout.readline().strip()
            try:
                fill(lab)
                yield from looks(chromium, url, token)
            finally:
                call("cancel", "last")
                process.terminate()


def lab_file(folder: Path) -> Path:
    """Six simulated drives of two kinds."""
    rows = ['backend = "sim"']
    for name in DRIVES:
        rows += [f"[targets.{name}]", f'path = "/sim/{name}"']
    path = folder / "lab.toml"
    path.write_text("\n".join([*rows, "[groups]", 'gen5 = ["gen5-*"]', ""]))
    return path


def call(*words: str | Path) -> None:
    subprocess.run([*COMMAND, *map(str, words)], check=False)


def fill(lab: Path) -> None:
    """Sessions that have ended, and a job that goes on."""
    on = ("--lab", lab, "--target")
    note = ("--note", "after the firmware update")
    call("run", *SHORT, *on, "gen5", "--tag", "nightly")
    call("run", *SHORT, *on, DRIVES[1], "--detach", *note)
    call("run", "reviews/p3700", *on, "gen5", "--detach", "--quiet")


def looks(chromium: Browser, url: str, token: str) -> Iterator[tuple[str, bytes]]:
    chromium.size(WIDTH, HEIGHT)
    chromium.driver.get(url)
    chromium.driver.switch_to.active_element.send_keys(token, "\n")
    for name, page in PAGES.items():
        time.sleep(0.5)
        chromium.driver.get(url + page)
        yield name, chromium.driver.get_screenshot_as_png()
