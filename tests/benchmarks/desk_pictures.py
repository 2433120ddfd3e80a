"""The pictures of docs/desk.md, which `gallery.py` makes: a desk with simulated drives."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("support", "browser")]

from chromium import Browser, browser  # noqa: E402

FOLDER = ROOT / "docs" / "gallery"
DRIVES = [f"gen5-{at:02}" for at in range(1, 7)]
SHORT = ("quick/datasheet", "--profile", "short", "--quiet")
PAGES = {
    "desk_now": "",
    "desk_sessions": "sessions?text=nightly",
}
WIDTH, HEIGHT = 1100, 620


def lab_file(folder: Path) -> Path:
    """Six simulated drives of two kinds."""
    rows = ['backend = "sim"']
    for name in DRIVES:
        rows += [f"[targets.{name}]", f'path = "/sim/{name}"']
    rows += ["[groups]", 'gen5 = ["gen5-*"]', ""]
    path = folder / "lab.toml"
    path.write_text("\n".join(rows))
    return path


def call(*words: str | Path) -> None:
    """A call of the command line."""
    subprocess.run([sys.executable, "-m", "ioplan.cli", *map(str, words)], check=False)


def fill(lab: Path) -> None:
    """Sessions that have ended, and a job that goes on."""
    on = ("--lab", lab, "--target")
    call("run", *SHORT, *on, "gen5", "--tag", "nightly")
    call(
        "run", *SHORT, *on, DRIVES[1], "--detach", "--note", "after the firmware update"
    )
    call("run", "reviews/p3700", *on, "gen5", "--detach", "--quiet")


def picture(chromium: Browser, name: str) -> None:
    """Take it, and keep it small."""
    path = FOLDER / f"{name}.png"
    path.write_bytes(chromium.driver.get_screenshot_as_png())
    small = ["pngquant", "--force", "--skip-if-larger", "--output", path, "64", path]
    subprocess.run(small, check=False)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def main() -> None:
    """Serve, fill, look."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        for word in ("STATE", "DATA", "CONFIG"):
            os.environ[f"XDG_{word}_HOME"] = str(folder / word)
        os.environ.pop("IOPLAN_STORE", None)
        lab = lab_file(folder)
        words = ["lab", "serve", "--listen", "127.0.0.1:0", "--lab", str(lab)]
        command = [sys.executable, "-m", "ioplan.cli", *words]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, text=True) as process:
            assert process.stdout
            url = process.stdout.readline().split()[-1]
            token = process.stdout.readline().strip()
            try:
                fill(lab)
                look(folder, url, token)
            finally:
                call("cancel", "last")
                process.terminate()


def look(folder: Path, url: str, token: str) -> None:
    """Each page, in the light theme."""
    with browser(folder) as chromium:
        chromium.size(WIDTH, HEIGHT)
        chromium.driver.get(url)
        chromium.driver.switch_to.active_element.send_keys(token, "\n")
        for name, page in PAGES.items():
            time.sleep(0.5)
            chromium.driver.get(url + page)
            picture(chromium, name)
