"""Makes all pictures of the documents again: reports and the desk, in Chromium.

    .venv/bin/python tests/benchmarks/gallery.py [NAME…] [--work FOLDER]

Needs chromium, chromedriver and pngquant. The sessions stay in FOLDER for the next
call; without it they are run again.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("support", "browser")]

import desk_pictures  # noqa: E402
from chromium import Browser, browser, left_out  # noqa: E402
from command import ioplan  # noqa: E402

from ioplan.results.store import Store  # noqa: E402

FOLDER = ROOT / "docs" / "gallery"
DRIVES = ROOT / "examples" / "sim"
WIDTH = 1000
MOST_BYTES = 100_000
COLOURS = "32"

SHOWN = """
const [test, titles] = arguments;
const parts = [...document.querySelectorAll("section.test")];
for (const part of parts) part.hidden = part.querySelector("h2").textContent !== test;
const part = parts.find((one) => !one.hidden);
const charts = [...part.querySelectorAll("figure")];
const title = (chart) => chart.querySelector("h3").textContent;
for (const chart of charts) {
  chart.style.display = titles.includes(title(chart)) ? "" : "none";
}
const shown = charts.filter((chart) => chart.style.display !== "none");
const wide = shown.filter((chart) => chart.classList.contains("wide"));
if (shown.length === 2 && wide.length === 1) wide[0].classList.remove("wide");
shown.forEach(come);
again();
const found = charts.map(title);
return [`#${part.id}`, titles.filter((one) => !found.includes(one))];
"""
FORGET = """
const names = ["Host", "CPU", "Memory", "System", "Plan"];
for (const fact of document.querySelectorAll(".facts div")) {
  if (names.includes(fact.querySelector("dt").textContent)) fact.remove();
}
document.documentElement.dataset.theme = "light";
"""
BOX = """
const boxes = [...document.querySelectorAll(arguments[0])]
  .map((one) => one.getBoundingClientRect());
const top = Math.min(...boxes.map((box) => box.top)) + scrollY;
const bottom = Math.max(...boxes.map((box) => box.bottom)) + scrollY;
return [Math.floor(top), Math.ceil(bottom)];
"""


HOW = {
    "pts/pts_write_saturation": ("--profile", "full"),
    "pts/pts_cross_stimulus": ("--profile", "full"),
}
"""What tells little in the short profile, which is that of the others."""


class ChartSpec(Struct, frozen=True):
    """Some charts of a test, or without a test the head of a report."""

    name: str
    suite: str
    drives: tuple[str, ...]
    test: str = ""
    charts: tuple[str, ...] = ()


IOPS, LATENCY = "IOPS by queue depth", "Mean latency by queue depth"
TAILS = "Mean, p50, p99, p99.999 latency by queue depth"
SIZES = ("Throughput by block size", "IOPS by block size")
SHARES = ("Cumulative latency", "Latency percentiles")
MAP, ROUNDS = "IOPS by block size and read share", "IOPS by round (read == 0%)"
TLC = ("datacentre",)
A, B, C = "reviews/p3700", "reviews/p4800x", "reviews/m9100"
A_DRIVES, B_DRIVES = ("datacentre", "client"), ("crosspoint", "datacentre")
C_DRIVES = ("client", "datacentre")
PTS = "pts/pts_"
PICTURES = (
    ChartSpec("first_screen", "quick/datasheet", TLC),
    ChartSpec("a3_random_read", A, A_DRIVES, "A3 random read", (IOPS, LATENCY)),
    ChartSpec("a6_consistency", A, A_DRIVES, "A6 IO consistency", ("IOPS over time",)),
    ChartSpec("b1_random_read", B, B_DRIVES, "B1 random read", (IOPS, TAILS)),
    ChartSpec("b5_transfer_size", B, B_DRIVES, "B5 random read over size", SIZES),
    ChartSpec(
        "c1_read_share",
        C,
        C_DRIVES,
        "C1 saturated IOPS, random 4 KiB",
        ("IOPS by read share",),
    ),
    ChartSpec("c8_percentiles", C, C_DRIVES, "C8 latency percentiles", SHARES),
    ChartSpec("d1_iops", f"{PTS}iops", TLC, "D1 IOPS", (MAP, ROUNDS)),
    ChartSpec(
        "d4_write_saturation",
        f"{PTS}write_saturation",
        A_DRIVES,
        "D4 write saturation",
        ("IOPS over time", "Mean latency over time", "IOPS over bytes written"),
    ),
    ChartSpec(
        "d6_cross_stimulus",
        f"{PTS}cross_stimulus",
        TLC,
        "D6 cross stimulus recovery",
        ("Throughput over time", "Mean latency over time"),
    ),
    ChartSpec(
        "d8_demand_intensity",
        f"{PTS}demand_intensity",
        TLC,
        "D8 demand intensity",
        ("Mean latency against IOPS",),
    ),
)


def main() -> int:
    """Make the pictures that were asked for; 1 if one could not be made."""
    asked = arguments()
    if why := missing():
        print(why)
        return 1
    if not asked.name or "desk" in asked.name:
        desk_pictures.main()
    wanted = [p for p in PICTURES if not asked.name or p.name in asked.name]
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        with browser(work) as chromium:
            for picture in wanted:
                taken(chromium, picture, report(picture, work))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "name", nargs="*", help="`desk` or another; all, if none is named"
    )
    parser.add_argument("--work", type=Path)
    return parser.parse_args()


def missing() -> str:
    """Why no picture can be made here; empty if they can."""
    if why := left_out():
        return why
    return "" if shutil.which("pngquant") else "LEFT OUT: no pngquant: apt install it"


def report(picture: ChartSpec, work: Path) -> Path:
    """The page of a suite on its drives."""
    slug = picture.suite.replace("/", "-")
    store = work / f"{slug}.db"
    sessions = [session(store, picture.suite, drive) for drive in picture.drives]
    page = work / f"{slug}-{'-'.join(picture.drives)}.html"
    done = ioplan("report", *sessions, "--store", store, "-o", page)
    assert done.code == 0, done.err
    return page


def session(store: Path, suite: str, drive: str) -> str:
    """The session of a suite on a simulated drive: an old one, or a new one."""
    named = store.with_name(f"{store.stem}-{drive}.session")
    if not named.exists():
        how = HOW.get(suite, ("--profile", "short"))
        sim = ("--backend", "sim", "--sim", DRIVES / f"{drive}.toml")
        done = ioplan("run", suite, *how, *sim, "--store", store, "-q")
        assert done.code in (0, 1), done.err  # 1: an expectation did not hold
        with Store.open(store) as opened:
            named.write_text(opened.session("last").id)
    return named.read_text()


def taken(chromium: Browser, picture: ChartSpec, page: Path) -> None:
    """Take one picture."""
    chromium.open(page, WIDTH)
    chromium.run(FORGET)
    place = "header.top, main > .card"
    if picture.test:
        place, lost = chromium.run(SHOWN, picture.test, picture.charts)
        assert not lost, (picture.name, lost)
    top, bottom = chromium.run(BOX, place)
    clip = {"x": 0, "y": top - 12, "width": WIDTH, "height": bottom - top + 24}
    shot = chromium.tell(
        "Page.captureScreenshot", clip={**clip, "scale": 1}, captureBeyondViewport=True
    )
    size = squeezed(shot["data"], FOLDER / f"{picture.name}.png")
    print(f"{picture.name}: {WIDTH} x {clip['height']}, {size / 1e3:.0f} kB")


def squeezed(data: str, file: Path) -> int:
    """Write a picture in as few colours as it needs; its size in bytes."""
    FOLDER.mkdir(exist_ok=True)
    file.write_bytes(base64.b64decode(data))
    squeeze = ("pngquant", "--force", "--strip", "--nofs", "--output", file)
    subprocess.run([*squeeze, COLOURS, file], check=True)
    size = file.stat().st_size
    assert size < MOST_BYTES, f"{file} is too large: show fewer charts"
    return size


if __name__ == "__main__":
    sys.exit(main())
