"""Makes the pictures of docs/gallery.md that a reader saves from a report, in Chromium.

    .venv/bin/python tests/benchmarks/saved_pictures.py [--work FOLDER]

One test of a review on two, on twenty and on a hundred variants of a simulated drive.
The sessions stay in FOLDER for the next call. Prints the size of each report and how long
it took to draw all of it.
"""

from __future__ import annotations

import argparse
import base64
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from first_screens import variants
from gallery import FOLDER, Browser, browser, ioplan, missing

from ioplan.results.store.store import Store

SUITE, TEST, CHART = "reviews/p3700", "A3*", "IOPS by queue depth"
NUMBERS = {"two": 2, "twenty": 20, "hundred": 100}
SAVED = """
const [title, done] = arguments;
const found = figures.find((one) => one.querySelector("h3").textContent === title);
picture(chartOf(found)).then(pngBlob).then((blob) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",")[1]);
  reader.readAsDataURL(blob);
});
"""


def main() -> int:
    """Save the pictures; 1 if there is no browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if why := missing():
        print(why)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        with browser(work) as chromium:
            for name, number in NUMBERS.items():
                page = report(work, number)
                saved(chromium, page, FOLDER / f"saved_{name}.png")
    return 0


def report(work: Path, number: int) -> Path:
    """The report of the test on so many drives."""
    store = work / "drives.db"
    with Store.open(store) as opened:
        ids = [session.id for session in opened.sessions()][::-1]
    for drive in variants(work, number)[len(ids) :]:
        sim = ("--backend", "sim", "--sim", drive, "--store", store)
        done = ioplan("run", SUITE, "--profile", "short", "--test", TEST, *sim, "-q")
        assert done.code in (0, 1), done.err  # 1: an expectation did not hold
    with Store.open(store) as opened:
        ids = [session.id for session in opened.sessions()][::-1]
    page = work / f"{number}.html"
    done = ioplan("report", *ids[:number], "--store", store, "-o", page, "--force")
    assert done.code == 0, done.err
    return page


def saved(chromium: Browser, page: Path, file: Path) -> None:
    """What the button PNG gives, in as few colours as it needs."""
    chromium.open(page)
    began = time.perf_counter()
    chromium.run("figures.forEach(come)")
    drawn_s = time.perf_counter() - began
    file.write_bytes(
        base64.b64decode(chromium.driver.execute_async_script(SAVED, CHART))
    )
    squeeze = ("pngquant", "--force", "--strip", "--speed", "1", "--output", file, "64")
    subprocess.run([*squeeze, file], check=True)
    print(
        f"{file.name}: {file.stat().st_size / 1e3:.0f} kB; report "
        f"{page.stat().st_size / 1e6:.2f} MB, drawn in {drawn_s:.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
