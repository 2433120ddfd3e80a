"""What `show`, `compare` and `report` take for a session of 10,560 runs.

    .venv/bin/python tests/benchmarks/session_10k.py [FOLDER]

CPU time beyond that of the same command on a hundredth of the runs, which is nearly all
start-up; the stores take turns. The memory is compared with that of a tenth of the runs.
The stores stay in FOLDER for the next call.
"""

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmark_row import tell
from large_store import add_session
from sessions import session
from used import IOPLAN, in_turn, used

from ioplan.results.store import Store

ROUNDS, LIMIT_S = 3, 3.0
PAGE = str(Path(tempfile.gettempdir()) / "session_10k.html")
IDS = ("20261121-054512-k3f8", "20261121-054512-k3f9")
COMMANDS = {
    "show": ("show", "last"),
    "compare": ("compare", *IDS),
    "report": ("report", "last", "--force", "-o", PAGE),
}
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
TENTH = PLAN.replace("1..12", "1..1")
PLANS = {
    "all": PLAN,
    "hundredth": TENTH.replace("512KiB", "4KiB"),
    "tenth": TENTH,
}


def main(folder: Path) -> int:
    """Print a row for each command; 1 if a limit is exceeded."""
    stores = [made(folder / name, text) for name, text in PLANS.items()]
    held = [is_held(title, words, stores) for title, words in COMMANDS.items()]
    return 0 if all(held) else 1


def made(folder: Path, text: str) -> Path:
    """A store with two sessions of a plan's runs."""
    path = folder / "results.db"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        with Store.open(path) as store:
            for id in IDS:
                add_session(store, session(id, plan="10,000 runs", plan_text=text))
    return path


def is_held(title: str, words: tuple[str, ...], stores: list[Path]) -> bool:
    calls = [partial(used, IOPLAN, *words, "--store", store) for store in stores]
    rounds = in_turn(ROUNDS, *calls)
    cpu_s = statistics.median(whole.cpu_s - least.cpu_s for whole, least, _ in rounds)
    peaks = [max(use.peak_mb for use in column) for column in zip(*rounds, strict=True)]
    tell(
        f"`ioplan {title}` of 10,560 runs, CPU time beyond start-up",
        f"{cpu_s:.1f} s, {peaks[0]:.0f} MB, {peaks[0] / peaks[2]:.1f} times a tenth's",
        f"at most {LIMIT_S:g} s",
        held=cpu_s <= LIMIT_S,
    )
    return cpu_s <= LIMIT_S


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as name:
        sys.exit(main(Path(name)))
