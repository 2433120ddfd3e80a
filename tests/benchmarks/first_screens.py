"""Makes the pictures of docs/first-screens.md: what reports of suites open with.

    .venv/bin/python tests/benchmarks/first_screens.py [SUITE…] [--work FOLDER]

Each suite runs on the three simulated drives of examples/sim; quick/laptop on a file,
too. Needs chromium, chromedriver and pngquant. The sessions stay in FOLDER for the
next call; without it they are run again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    str(ROOT / "tests" / part) for part in ("support", "browser", "benchmarks")
]

from chromium import Browser, browser  # noqa: E402
from command import ioplan  # noqa: E402
from gallery import FORGET, missing, session, squeezed  # noqa: E402

from ioplan.results.store.store import Store  # noqa: E402

DOCUMENT = ROOT / "docs" / "first-screens.md"
FOLDER = ROOT / "docs" / "gallery"
DRIVES = ("datacentre", "client", "crosspoint")
PTS = (
    *("iops", "latency", "throughput", "write_saturation", "host_idle_recovery"),
    *("cross_stimulus", "enterprise_composite", "demand_intensity"),
)
SUITES = (
    *("quick/laptop", "quick/health", "quick/capacity", "quick/datasheet"),
    *(f"pts/pts_{name}" for name in PTS),
    *("reviews/p3700", "reviews/p4800x", "reviews/m9100"),
)
ON_A_FILE = "quick/laptop"
WINDOWS = ((1440, 900), (390, 844))
SENTENCE = "return document.querySelector('.sentence')?.textContent ?? ''"
HEAD = """# First screens

What the report of each suite opens with, on the simulated drives of `examples/sim`, which
are models of no product: its sentence, and its first screen in a window of 1440 pixels and
on a phone. `tests/benchmarks/first_screens.py` makes them.
"""


def main() -> int:
    """Make the pictures and the document; 1 if that is not possible here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", nargs="*", default=SUITES)
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if why := missing():
        print(why)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        with browser(work) as chromium:
            parts = [shown(chromium, suite, work) for suite in asked.suite]
            if ON_A_FILE in asked.suite:
                page = report(ON_A_FILE, work, _on_a_file(work))
                parts.append(taken(chromium, f"{ON_A_FILE} on a file", page, "file"))
    if tuple(asked.suite) == SUITES:
        DOCUMENT.write_text("\n".join([HEAD, *parts]))
    else:
        print("\n".join(parts))
    return 0


def shown(chromium: Browser, suite: str, work: Path) -> str:
    """The part of the document on a suite."""
    store = store_of(suite, work)
    page = report(suite, work, [session(store, suite, drive) for drive in DRIVES])
    name = suite.partition("/")[2].removeprefix("pts_")
    return taken(chromium, suite, page, name)


def taken(chromium: Browser, suite: str, page: Path, name: str) -> str:
    """Its pictures, which are in FOLDER, and its sentence."""
    for width, height in WINDOWS:
        chromium.open(page, width, height)
        chromium.run(FORGET)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = chromium.tell("Page.captureScreenshot", clip=clip)
        squeezed(shot["data"], FOLDER / f"first_{name}_{width}.png")
    sentence = chromium.run(SENTENCE).strip()
    print(f"{suite}: {sentence}", flush=True)
    pictures = [
        f"![{suite}, {width} pixels wide](gallery/first_{name}_{width}.png)"
        for width, _ in WINDOWS
    ]
    lines = textwrap.wrap(sentence, 86, break_on_hyphens=False)
    said = "\n".join(f"> {line}" for line in lines)
    return f"## {suite}\n\n{said}\n\n" + "\n\n".join(pictures) + "\n"


def store_of(suite: str, work: Path) -> Path:
    return work / f"{suite.replace('/', '-')}.db"


def report(suite: str, work: Path, sessions: list[str]) -> Path:
    """The page of some sessions of a suite."""
    store = store_of(suite, work)
    page = store.with_suffix(f".{len(sessions)}.html")
    done = ioplan("report", *sessions, "--store", store, "-o", page, "--force")
    assert done.code == 0, done.err
    return page


def _on_a_file(work: Path) -> list[str]:
    """By the io_uring engine; of the suite that is made for it."""
    store = store_of(ON_A_FILE, work)
    file = ("--target", work / "scratch.bin", "--create", "1GiB")
    done = ioplan("run", ON_A_FILE, *file, "--store", store, "-q")
    assert done.code in (0, 1), done.err
    with Store.open(store) as opened:
        return [opened.session("last").id]


if __name__ == "__main__":
    sys.exit(main())
