"""What `show`, `export`, `compare` and `report` take for a session of 10,560 runs.

    .venv/bin/python tests/benchmarks/session_10k.py [FOLDER]

CPU time beyond that of the same command on a session of one run, which is its start-up;
the commands take turns. What an export holds in memory is compared with that of a tenth
of the runs. The stores stay in FOLDER for the next call.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmark_row import tell
from report_10k import PLAN, fill

ROUNDS, LIMIT_S, FLAT = 3, 3.0, 1.5
PAGE = str(Path(tempfile.gettempdir()) / "session_10k.html")
IDS = ("20261121-054512-k3f8", "20261121-054512-k3f9")
COMMANDS = {
    "show": ("show", "last"),
    "export, CSV": ("export", "last", "--format", "csv"),
    "export, JSON": ("export", "last", "--format", "json"),
    "export, Parquet": ("export", "last", "--format", "parquet"),
    "compare": ("compare", *IDS),
    "report": ("report", "last", "--force", "-o", PAGE),
}
SMALL = {
    "one": PLAN.replace("1..12", "1..1").replace("512KiB", "4KiB"),
    "tenth": PLAN.replace("1..12", "1..1"),
}


def main(folder: Path) -> int:
    """Print a row for each command; 1 if a limit is exceeded."""
    stores = {"all": made(folder, "all", PLAN)}
    stores |= {name: made(folder, name, plan) for name, plan in SMALL.items()}
    held = [told(title, words, stores) for title, words in COMMANDS.items()]
    return 0 if all(held) else 1


def made(folder: Path, name: str, plan: str) -> Path:
    """A store with two sessions of a plan's runs."""
    store = folder / name / "results.db"
    if not store.exists():
        store.parent.mkdir(exist_ok=True)
        for id in IDS:
            fill(store.parent, store, plan, id)
    return store


def told(title: str, words: tuple[str, ...], stores: dict[str, Path]) -> bool:
    rounds = [
        {name: used(words, store) for name, store in stores.items()}
        for _ in range(ROUNDS)
    ]
    cpu_s = statistics.median(one["all"][0] - one["one"][0] for one in rounds)
    peak = {name: max(one[name][1] for one in rounds) for name in stores}
    more = peak["all"] / peak["tenth"]
    streams = title.startswith("export") and "Parquet" not in title
    held = cpu_s <= LIMIT_S and (more <= FLAT or not streams)
    tell(
        f"`ioplan {title}` of 10,560 runs, CPU time beyond start-up",
        f"{cpu_s:.1f} s, {peak['all'] / 1e3:.0f} MB, {more:.1f} times a tenth's",
        f"at most {LIMIT_S:g} s" + f", {FLAT:g} times" * streams,
        held=held,
    )
    return held


def used(words: tuple[str, ...], store: Path) -> tuple[float, float]:
    """CPU time in s and peak memory in KB of a command."""
    ioplan = Path(sys.executable).parent / "ioplan"
    command = [ioplan, *words, "--store", store]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{command}: {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as name:
        sys.exit(main(Path(name)))
