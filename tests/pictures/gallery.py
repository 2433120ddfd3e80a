"""Makes all pictures of the documents again: reports and the lab, in Chromium.

    .venv/bin/python tests/pictures/gallery.py [NAME…] [--work FOLDER]

Needs chromium, chromedriver and pngquant. The sessions stay in FOLDER for the next
call; without it they are run again.
"""

import argparse
import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))

from chromium import Browser, browser, left_out
from command import ioplan

import lab
from ioplan.results.store import Store

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "gallery"
DRIVES = ROOT / "examples" / "sim"
WIDTH, MOST_BYTES = 1000, 100_000

SHOWN = """
const [test, titles] = arguments;
const parts = [...document.querySelectorAll("section.test")];
for (const part of parts) part.hidden = part.querySelector("h2").textContent !== test;
const part = parts.find((one) => !one.hidden);
const charts = [...part.querySelectorAll("figure[data-kind]")];
part.querySelectorAll("figure.runs, details.card").forEach((one) => one.remove());
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
FULL = {"pts/pts_write_saturation", "pts/pts_cross_stimulus"}
"""What tells little in the short profile, which is that of the others."""


class Picture(Struct, frozen=True):
    """Some charts of a test, or without a test the head of a report."""

    name: str
    suite: str
    drives: tuple[str, ...]
    test: str = ""
    charts: tuple[str, ...] = ()
    height: int = 0
    """Of a report's head, in pixels."""


TLC, A_DRIVES = ("datacentre",), ("datacentre", "client")
B, B_DRIVES = "reviews/p4800x", ("crosspoint", "datacentre")
C, C_DRIVES = "reviews/m9100", ("client", "datacentre")
A, PTS, BY_DEPTH = "reviews/p3700", "pts/pts_", "by queue depth"
PICTURES = (
    Picture("first_screen", B, (*B_DRIVES, "client"), height=1100),
    Picture("one_drive", "quick/datasheet", TLC, height=900),
    Picture(
        "a3_random_read", A, A_DRIVES, "A3 random read",
        (f"IOPS {BY_DEPTH}", f"Mean latency {BY_DEPTH}"),
    ),
    Picture("a6_consistency", A, A_DRIVES, "A6 IO consistency", ("IOPS over time",)),
    Picture(
        "b1_random_read", B, B_DRIVES, "B1 random read",
        (f"IOPS {BY_DEPTH}", f"Mean, p50, p99, p99.999 latency {BY_DEPTH}"),
    ),
    Picture(
        "b5_transfer_size", B, B_DRIVES, "B5 random read over size",
        ("Throughput by block size", "IOPS by block size"),
    ),
    Picture(
        "c1_read_share", C, C_DRIVES, "C1 saturated IOPS, random 4 KiB",
        ("IOPS by read share",),
    ),
    Picture(
        "c8_percentiles", C, C_DRIVES, "C8 latency percentiles",
        ("Cumulative latency", "Latency percentiles"),
    ),
    Picture(
        "d1_iops", f"{PTS}iops", TLC, "D1 IOPS",
        ("IOPS by block size and read share", "IOPS by round (read == 0%)"),
    ),
    Picture(
        "d4_write_saturation", f"{PTS}write_saturation", A_DRIVES, "D4 write saturation",
        ("IOPS over time", "Mean latency over time", "IOPS over bytes written"),
    ),
    Picture(
        "d6_cross_stimulus", f"{PTS}cross_stimulus", TLC, "D6 cross stimulus recovery",
        ("Throughput over time", "Mean latency over time"),
    ),
    Picture(
        "d8_demand_intensity", f"{PTS}demand_intensity", TLC, "D8 demand intensity",
        ("Mean latency against IOPS",),
    ),
)  # fmt: skip


def main() -> int:
    """Make the pictures that were asked for; 1 if one could not be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["lab", *(one.name for one in PICTURES)]
    parser.add_argument("name", nargs="*", choices=names, default=names)
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if why := missing():
        print(why)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        with browser(work) as chromium:
            if "lab" in asked.name:
                for name, shot in lab.pictures(chromium):
                    write(name, shot, colours=64)
            for picture in PICTURES:
                if picture.name in asked.name:
                    page = report(picture, work)
                    write(picture.name, taken(chromium, picture, page), colours=32)
    return 0


def missing() -> str:
    """Why no picture can be made here; empty if they can."""
    if why := left_out():
        return why
    return "" if shutil.which("pngquant") else "LEFT OUT: no pngquant: apt install it"


def report(picture: Picture, work: Path) -> Path:
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
        profile = "full" if suite in FULL else "short"
        sim = ("--backend", "sim", "--sim", DRIVES / f"{drive}.toml", "--store", store)
        done = ioplan("run", suite, "--profile", profile, *sim, "-q")
        assert done.code in (0, 1), done.err  # 1: an expectation did not hold
        with Store.open(store) as opened:
            named.write_text(opened.session("last").id)
    return named.read_text()


def taken(chromium: Browser, picture: Picture, page: Path) -> bytes:
    """A picture of the charts, as PNG."""
    chromium.open(page, WIDTH)
    chromium.run(FORGET)
    top, bottom = 12, picture.height - 12
    if picture.test:
        place, lost = chromium.run(SHOWN, picture.test, picture.charts)
        assert not lost, (picture.name, lost)
        top, bottom = chromium.run(BOX, place)
    clip = {"x": 0, "y": top - 12, "width": WIDTH, "height": bottom - top + 24}
    shot = chromium.tell(
        "Page.captureScreenshot", clip={**clip, "scale": 1}, captureBeyondViewport=True
    )
    return base64.b64decode(shot["data"])


def write(name: str, shot: bytes, colours: int) -> None:
    """In as few colours as it needs."""
    file = FOLDER / f"{name}.png"
    file.write_bytes(shot)
    squeeze = ("pngquant", "--force", "--strip", "--nofs", "--output", file)
    subprocess.run([*squeeze, str(colours), file], check=True)
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size / 1e3:.0f} kB")
    assert size < MOST_BYTES, f"{file} is too large: show fewer charts"


if __name__ == "__main__":
    sys.exit(main())
