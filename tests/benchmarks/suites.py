"""Runs every suite: the full profile on the simulated drive, smoke on a scratch file.

    python tests/benchmarks/suites.py [SUITE…] [--only sim|io_uring]

Each session is checked for its cells, rounds, durations and bytes; the table says
what was done. About ten minutes for all of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from command import ioplan
from suite_rows import CUTS, PLANS, SMOKE_BYTES, check_session, parts

from ioplan.results.store import Store

SIM_BYTES = 64 << 30
WAYS = {
    "sim": ("full", SIM_BYTES, ("--backend", "sim", "--create", "64GiB")),
    "io_uring": ("smoke", SMOKE_BYTES, ("--create", "256MiB")),
}


def main() -> int:
    """Run what was asked for; the exit code tells whether all of it was right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", nargs="*", default=[n for n in PLANS if n != CUTS])
    parser.add_argument("--only", choices=list(WAYS))
    asked = parser.parse_args()
    print(
        "| row | suite | test | profile, backend | cells | runs | session s | right |"
    )
    print("|---|---|---|---|---|---|---|---|")
    right = True
    for name in asked.suite:
        for backend in [asked.only] if asked.only else WAYS:
            with tempfile.TemporaryDirectory() as folder:
                for line, held in _rows(name, backend, Path(folder)):
                    right = right and held
                    print(line, flush=True)
    return 0 if right else 1


def _rows(name: str, backend: str, folder: Path) -> Iterator[tuple[str, bool]]:
    """A row for each test of a suite."""
    profile, capacity_bytes, where = WAYS[backend]
    target = () if backend == "sim" else ("--target", folder / "scratch.bin")
    store = folder / "results.db"
    began = monotonic()
    done = ioplan(
        *("run", name, "--profile", profile, "--store", store, "--json"),
        *(*where, *target),
    )
    spent_s = monotonic() - began
    with Store.open(store) as found:
        records = list(found.records(done.of("session")[0]["id"]))
    held = done.code in (0, 1) and _held(name, profile, capacity_bytes, records)
    for part in parts(PLANS[name], profile, capacity_bytes):
        mine = [r for r in records if r.asked.test == part.test.title]
        runs = sum(r.asked.kind == "run" for r in mine)
        yield (
            f"| {part.row} | `{name}` | {part.test.title} | {profile}, {backend} "
            f"| {part.cells} | {runs:_} | {spent_s:.0f} | {'yes' if held else 'NO'} |",
            held,
        )


def _held(name: str, profile: str, capacity_bytes: int, records: list) -> bool:  # type: ignore[type-arg]
    try:
        check_session(PLANS[name], profile, capacity_bytes, records)
    except AssertionError:
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
