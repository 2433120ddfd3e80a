"""The chart of a page as a picture, by a Chromium that is installed here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.request import urlopen

NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge"),
)
OPTIONS = (
    *("--headless=new", "--disable-gpu", "--disable-extensions", "--no-first-run"),
    *("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"),
    "--window-size=900,1400",  # as narrow as a sheet, in one column
    "--virtual-time-budget=30000",  # milliseconds for the page's scripts to draw
    "--dump-dom",
)
"""A browser of its own, that reaches nothing."""
MOST_S = 180
OTHERWISE = "open the HTML report in a browser, which prints it and saves its charts"
PICTURE = re.compile(r'<pre id="picture">(data:[^<&]+)</pre>')


class BrowserError(Exception):
    """There is no browser, or it did not draw."""


def picture(page: str, kind: str) -> bytes:
    """The first chart of a page, an "svg" or a "png", as the page saves it.

    Raises BrowserError.
    """
    with tempfile.TemporaryDirectory(prefix="ioplan-picture-") as folder:
        source = Path(folder, "report.html")
        source.write_text(page, "utf-8")
        # root has no sandbox to be in
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        profile = f"--user-data-dir={folder}/profile"
        address = f"{source.as_uri()}?picture={kind.upper()}"
        drawn = _run([_browser(), *as_root, *OPTIONS, profile, address])
    if not (url := PICTURE.search(drawn)):
        raise BrowserError(f"the browser drew no chart; {OTHERWISE}")
    with urlopen(url[1]) as data:
        return bytes(data.read())


def _browser() -> str:
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if not browser:
        raise BrowserError(
            "charts are drawn by Chromium, and neither it nor Chrome is in PATH: "
            f"install it (apt install chromium), or {OTHERWISE}"
        )
    return browser


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=MOST_S, check=True)
        return done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        raise BrowserError(f"{command[0]} did not draw within {MOST_S} s") from None
    except (OSError, subprocess.CalledProcessError) as error:
        raise BrowserError(f"{command[0]} could not draw: {error}") from error
