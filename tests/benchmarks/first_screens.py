"""Makes the pictures of first screens in docs/gallery.md: of 1280 x 900, in Chromium.

    .venv/bin/python tests/benchmarks/first_screens.py [--name after] [--work FOLDER]

A suite of a review on two drives, twenty drives, and a session in which nothing that was
expected held; all of them simulated. The sessions stay in FOLDER for the next call, also
of another state of the tree: the pictures `before_…` were made so.
"""

from __future__ import annotations

import argparse
import base64
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gallery import DRIVES, FOLDER, FORGET, Browser, browser, ioplan, missing

from ioplan.store.store import Store

WIDTH, HEIGHT, SCALE = 1280, 900, 0.6
TWENTY = 20
SEED = 7
FAILS = """plan "Nothing holds"

test "Random I/O" {
  run    random 4KiB, qd 1 for 1s
  vary   qd in 1..128 doubling
  vary   read in 100%, 70%, 0%
  vary   size in 4KiB, 16KiB, 64KiB
  expect iops >= 5_000_000 iops
  expect p99 <= 5us
}

test "Sequential I/O" {
  run    sequential 128KiB, qd 1 for 1s
  vary   qd in 1..128 doubling
  vary   read in 100%, 0%
  expect bandwidth >= 50_000MB/s
}
"""


def main() -> int:
    """Take the three pictures; 1 if there is no browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="after")
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if why := missing():
        print(why)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        with browser(work) as chromium:
            for what, page in pages(work):
                taken(chromium, page, FOLDER / f"{asked.name}_{what}.png")
    return 0


def pages(work: Path) -> Iterator[tuple[str, Path]]:
    """Each with what it is of."""
    two = [DRIVES / f"{name}.toml" for name in ("datacentre", "client")]
    plan = work / "nothing-holds.ioplan"
    plan.write_text(FAILS)
    yield "suite", page(work / "suite.db", "reviews/p3700", two)
    yield "twenty", page(work / "twenty.db", "quick/datasheet", variants(work, TWENTY))
    yield "failed", page(work / "failed.db", plan, two[1:])


def variants(work: Path, count: int) -> list[Path]:
    """The data-centre drive in variants: latencies, commands, bandwidth."""
    text, drawn = (DRIVES / "datacentre.toml").read_text(), random.Random(SEED)
    made = []
    for number in range(1, count + 1):
        changed = {
            'model = ".*"': f'model = "drive {number:02}"',
            'read = "70us"': f'read = "{70 * drawn.uniform(0.8, 1.3):.0f}us"',
            'commands = ".*"': f'commands = "{450e3 * drawn.uniform(0.8, 1.2):.0f} iops"',
            'bandwidth = "3.2GB/s"': f'bandwidth = "{drawn.uniform(2.6, 3.6):.2f}GB/s"',
        }
        variant = text
        for old, new in changed.items():
            variant = re.sub(old, new, variant, count=1)
        made.append(work / f"drive-{number:02}.toml")
        made[-1].write_text(variant)
    return made


def page(store: Path, plan: str | Path, drives: list[Path]) -> Path:
    """The report of a plan on each of the drives; sessions of an earlier call are kept."""
    if not store.exists():
        profile = ("--profile", "short") if isinstance(plan, str) else ()
        for drive in drives:
            sim = ("--backend", "sim", "--sim", drive, "--store", store)
            done = ioplan("run", plan, *profile, *sim, "-q")
            assert done.code in (0, 1), done.err  # 1: an expectation did not hold
    with Store.open(store) as opened:
        sessions = [session.id for session in opened.sessions()][::-1]
    made = store.with_suffix(".html")
    done = ioplan("report", *sessions, "--store", store, "-o", made, "--force")
    assert done.code == 0, done.err
    return made


def taken(chromium: Browser, page: Path, file: Path) -> None:
    """What stands in the window before anybody scrolls."""
    chromium.open(page, WIDTH, HEIGHT)
    chromium.run(FORGET)
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": SCALE}
    shot = chromium.tell("Page.captureScreenshot", clip=clip)
    file.write_bytes(base64.b64decode(shot["data"]))
    squeeze = ("pngquant", "--force", "--strip", "--speed", "1", "--output", file, "64")
    subprocess.run([*squeeze, file], check=True)
    print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
