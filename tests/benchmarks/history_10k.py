"""How long `history` takes on a store of many sessions.

    python tests/benchmarks/history_10k.py [SESSIONS]

Makes the store (20 cells a session; the records are those of a small run) and prints a
row: one cell, and all of them with their summary, beside reading the same records whole;
in seconds of CPU time, so that others on the machine do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from sessions import nightly_id, put_nights

from ioplan.cli import tune_startup
from ioplan.language import Metric
from ioplan.results.history import Question, history
from ioplan.results.store import Store

CELLS, NOISE, WHOLE = 20, 0.02, 200


def main(sessions: int) -> None:
    """Make it, ask, print."""
    rng = np.random.default_rng(1)
    factors = np.exp(NOISE * rng.normal(size=(sessions, CELLS)))
    runs = [f"run-{cell + 1}" for cell in range(CELLS)]
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        put_nights(store, sessions, CELLS, lambda one, cell: float(factors[one, cell]))
        one_s = asked(store, runs, "run-2")
        all_s = asked(store, runs, None)
        whole_s = read_whole(store) * sessions / WHOLE
    print("| sessions | one cell | 20 cells | records read whole |")
    print("|---|---|---|---|")
    print(f"| {sessions:_} | {one_s:.1f} s | {all_s:.1f} s | {whole_s:.1f} s |")


def asked(store: Store, runs: list[str], only: str | None) -> float:
    """CPU time of one question; garbage is left alone, as by the command."""
    tune_startup()
    began_s = process_time()
    question = Question(
        metrics=(Metric(name="iops"),),
        wanted=(lambda cell: cell.run_id == only) if only else None,
    )
    found = history(store, "demo", runs, question)
    assert len(found.series) == (1 if only else CELLS + 1)
    return process_time() - began_s


def read_whole(store: Store) -> float:
    """Seconds of some sessions, as other commands read them."""
    began_s = process_time()
    for number in range(WHOLE):
        list(store.records(nightly_id(number)))
    return process_time() - began_s


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
