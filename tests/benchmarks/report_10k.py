"""How large a report of 10,000 runs is, and how long it takes to make and to open.

    .venv/bin/python tests/benchmarks/report_10k.py [FOLDER]

The runs stay in FOLDER/results.db for the next call.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "browser")]

from chromium import browser, left_out  # noqa: E402
from command import ioplan  # noqa: E402
from figures import measurement, record  # noqa: E402
from sessions import session  # noqa: E402

from ioplan.language import Test, check_file  # noqa: E402
from ioplan.results.store import Store  # noqa: E402

KINDS = 64
"""So many different results take turns."""

PLAN = """
plan "10,000 runs"

test "Saturation" {
  run    random, qd 1 each for 50ms
  vary   threads in 1..12 step 1
  vary   size in 4KiB..512KiB doubling
  vary   read in 0%..100% step 10%
  vary   qd in 1..512 doubling
  chart  lines iops by read per qd
  chart  lines mean, p99 by qd per read
  chart  heatmap iops by qd, read
  chart  percentiles p99 when size == 4KiB and threads == 1 and qd == 32
  chart  lines mean by iops per size when read == 100%
}
"""


def main(folder: Path) -> None:
    """Print a line for each step."""
    store, page = folder / "results.db", folder / "report.html"
    if not store.exists():
        fill(folder, store)
    begun, worked = time.perf_counter(), time.process_time()
    done = ioplan("report", "last", "--store", store, "-o", page)
    assert done.code == 0, done.err
    told("made in", time.perf_counter() - begun)
    told("with CPU time of", time.process_time() - worked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{page.stat().st_size / 1e6:.1f} MB; {peak:.0f} MB of memory at most")
    if why := left_out():
        print(why)
        return
    look(page, folder)


def fill(
    folder: Path, store: Path, text: str = PLAN, id: str = "20261121-054512-k3f9"
) -> None:
    """All runs of a plan, each with its histograms and its series, under the plan's cells."""
    plan = folder / "many.ioplan"
    plan.write_text(text)
    kinds = [measurement(seed) for seed in range(KINDS)]
    (test,) = check_file(plan).tests
    with Store.open(store) as opened:
        opened.begin(
            session(id, plan="10,000 runs", plan_text=text, plan_file=str(plan))
        )
        for seq, cell in enumerate(cells(test), start=1):
            made = kinds[seq % KINDS]
            opened.add(
                record(seq, test=test.title, session=id, made=made, cell=cell),
                made.detail,
            )
        opened.finish(id, "ok", "2026-11-21T09:00:00Z")


def cells(test: Test) -> Iterator[dict[str, str]]:
    """The matrix of a test, as the plan writes it."""
    names = [axis.names[0] for axis in test.axes]
    for row in product(*([v[0].text for v in axis.values] for axis in test.axes)):
        yield dict(zip(names, row, strict=True))


def look(page: Path, folder: Path) -> None:
    """Open it, draw all of it, open its longest table."""
    with browser(folder) as chromium:
        begun = time.perf_counter()
        chromium.open(page)
        chromium.run("return figures.length")
        told("opened in", time.perf_counter() - begun)
        begun = time.perf_counter()
        chromium.run("figures.forEach(come)")
        told("all charts drawn in", time.perf_counter() - begun)
        begun = time.perf_counter()
        chromium.run("document.querySelectorAll('.runs details').forEach(fillTable)")
        told("table of all runs begun in", time.perf_counter() - begun)


def told(what: str, spent_s: float) -> None:
    print(f"{what} {spent_s:.1f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
