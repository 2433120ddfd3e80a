"""A trace against its model (`ioplan model`), on a simulated drive and on a file.

    .venv/bin/python tests/benchmarks/model_of_trace.py [TRACE [VOLUME]]

As `ioplan model` itself compares them, but in rounds, and on a file, too. Without a
trace, one is made: hot places, gamma gaps, 70 % reads.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from ioplan.trace import DTYPE, WRITE, Prepared, write
from ioplan.trace.convert import convert
from ioplan_importer.trace_model.command import model_text
from ioplan_importer.trace_model.simulated import compared, part_of

ROUNDS, IOS = 3, 60_000


def made(path: Path) -> None:
    """The trace that is taken without another."""
    random = np.random.default_rng(1)
    ios = np.zeros(IOS, DTYPE)
    times = np.cumsum(random.gamma(1 / 1.5**2, 1.5**2 / 3_000, IOS) * 1e9)
    ios["time_ns"] = (times - times[0]).astype("u8")
    ios["kind"] = np.where(random.random(IOS) < 0.3, WRITE, 0)
    ios["size"] = random.choice([4096, 8192, 65536], IOS, p=(0.6, 0.3, 0.1))
    ios["offset"] = (random.beta(1, 5, IOS) * 250_000).astype("u8") * 4096
    write(path, [ios])


def print_rows(trace: Prepared, backend: str) -> None:
    """A row for each figure: the medians of the rounds, and their ratio."""
    text, rounds = model_text("the trace", trace), []
    for number in range(ROUNDS):
        rounds.append(compared(trace, text, backend))
        print(f"round {number + 1} on {backend}", file=sys.stderr)
    for rows in zip(*rounds, strict=True):
        one, other = (median(getattr(r, k) for r in rows) for k in ("trace", "model"))
        name = rows[0].name
        print(f"| {backend} | {name} | {one:.4g} | {other:.4g} | {other / one:.2f} |")


def main() -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "a.iotrace"
        if sys.argv[1:]:
            convert(Path(sys.argv[1]), path, *sys.argv[2:3])
        else:
            made(path)
        trace = part_of(Prepared.open(path), Path(name))
        print("| target | figure | trace | model | ratio |\n|---|---|---|---|---|")
        for backend in ("sim", "io_uring"):
            print_rows(trace, backend)


if __name__ == "__main__":
    main()
