"""Do the backends measure the same? 24 cells on each in turn, judged as `crosscheck` does.

    python tests/benchmarks/agreement.py --target PATH [--create 1GiB] [--lab LAB]
        [--backends io_uring,fio,spdk] [--rounds 6] [--run 1s] [--depths 1,32]

Four sizes, three mixes and two queue depths, with zeros as data, which SPDK's bdevperf
can write. Each round runs every backend once, the next one in the other order, all on the
same CPUs. The others are compared with the first one; all intervals of the table hold
together with a confidence of 95 %. Printed are the table, and what a run takes beyond its
own time. SPDK opens the target by its aio, from a core that never sleeps: at queue depth 1
it is ahead where an idle CPU takes long to wake. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from ioplan import metric_text
from ioplan.cli import Terminal
from ioplan.cli.commands.crosscheck import Options, Side
from ioplan.cli.targets.choose import make_target, usable_backend
from ioplan.language import check_file
from ioplan.planner import Run, summary_of, unfold
from ioplan.results.store import Store
from ioplan.runner import read_lab
from ioplan.runner.session.crosscheck import MetricRatio, Pairs, judged, remarks

SIZES, READS = ("4KiB", "16KiB", "64KiB", "128KiB"), (100, 70, 0)
SHOWN = ("iops", "mean", "p99")
PLAN = f"""
param run_time = {{run}}
test "agreement" {{{{
  run random 4KiB 100/0, data zeros for run_time
  vary size in {", ".join(SIZES)}
  vary read in {", ".join(f"{read}%" for read in READS)}
  vary qd in {{depths}}
}}}}
"""

Cell = list[Pairs]
"""One pair of the first backend with each of the others."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True)
    parser.add_argument("--create")
    parser.add_argument("--lab", type=Path)
    parser.add_argument("--backends", default="io_uring,fio,spdk")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--run", default="1s")
    parser.add_argument("--depths", default="1,32")
    parser.add_argument("--overwrite", action="append", default=[])
    parser.add_argument("--overwrite-data", action="append", default=[])
    return parser.parse_args()


class Table:
    """All runs, as they come in."""

    def __init__(self, sides: list[Side], rounds: int) -> None:
        self.sides, self.rounds = sides, rounds
        self.overheads_s: list[list[float]] = [[] for _ in sides]
        self.cells: list[Cell] = []

    def run(self, step: Run) -> None:
        """One cell, all rounds."""
        cell = [Pairs(step.test.title, step.cell_text) for _ in self.sides[1:]]
        for number in range(self.rounds):
            order = range(len(self.sides))
            for which in order if number % 2 == 0 else reversed(order):
                self._run_on(which, replace(step, iteration=number + 1), cell)
        self.cells.append(cell)
        print(".", end="", file=sys.stderr, flush=True)

    def _run_on(self, which: int, step: Run, cell: Cell) -> None:
        began_s = time.monotonic()
        record, detail = self.sides[which].only(step)
        self.overheads_s[which].append(time.monotonic() - began_s - record.run_s)
        for pairs in cell if which == 0 else [cell[which - 1]]:
            pairs.add(min(which, 1), record, detail)

    def lines(self) -> list[str]:
        """The table in Markdown."""
        names = [side.choice.backend.name for side in self.sides]
        ratios = [f"{name} {metric}" for name in names[1:] for metric in SHOWN]
        head = ["size", "reads", "QD", f"{names[0]} IOPS", "mean", "p99", *ratios]
        found = judged([pairs for cell in self.cells for pairs in cell])
        rows = [head, ["---"] * len(head)]
        rows += [self._row(cell, found) for cell in self.cells]
        return [f"| {' | '.join(row)} |" for row in rows] + _counts(found)

    def _row(self, cell: Cell, found: list[MetricRatio]) -> list[str]:
        axes = cell[0].cell
        own = [[one for one in found if one.cell is pairs.cell] for pairs in cell]
        first = {one.metric.name: one for one in own[0]}
        figures = [
            metric_text(first[m].first, first[m].metric.unit) if m in first else "–"
            for m in SHOWN
        ]
        ratios = [
            _shown(one)
            for those in own
            for name in SHOWN
            for one in those
            if one.metric.name == name
        ]
        return [axes["size"], axes["read"], axes["qd"], *figures, *ratios]


def _shown(one: MetricRatio) -> str:
    interval = one.interval
    half = (interval.high - interval.low) / 2 / interval.ratio
    text = f"{interval.ratio:.3f} ± {100 * half:.1f} %"
    return text if one.verdict == "agree" else f"{text} ({one.verdict})"


def _counts(found: list[MetricRatio]) -> list[str]:
    verdicts = [one.verdict for one in found]
    parts = [f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts)]
    return ["", f"{len(found)} ratios: {', '.join(parts)}"]


def main() -> None:
    asked = arguments()
    lab = read_lab(asked.lab)
    with tempfile.TemporaryDirectory() as folder:
        plan_path = Path(folder) / "agreement.ioplan"
        plan_path.write_text(PLAN.format(run=asked.run, depths=asked.depths))
        plan = check_file(plan_path)
        options = Options(
            plan=plan_path,
            store=Path(folder) / "results.db",
            backends=asked.backends,
            target=asked.target,
            create=asked.create,
            lab=asked.lab,
            overwrite=asked.overwrite,
            overwrite_data=asked.overwrite_data,
        )
        choices = [usable_backend(n, lab, []) for n in asked.backends.split(",")]
        with Store.open(options.store) as store, ExitStack() as stack:
            terminal = Terminal(quiet=True)
            sides = [Side(plan, summary_of(plan), c, store, options) for c in choices]
            make_target(choices[0].backend, sides[0].request, terminal)
            for side in sides:
                side.begin(terminal, stack)
            table = Table(sides, asked.rounds)
            for step in unfold(plan):
                assert isinstance(step, Run)
                table.run(step)
    report(table)


def report(table: Table) -> None:
    print("\n".join(table.lines()))
    for number, side in enumerate(table.sides):
        name, cells = (
            side.choice.backend.name,
            [cell[max(0, number - 1)] for cell in table.cells],
        )
        print(
            f"{name}: {median(table.overheads_s[number]):.2f} s a run beside its own time"
        )
        for text in remarks(cells, min(number, 1)):
            print(f"  {text}")
    pairs = [one for cell in table.cells for one in cell]
    for text in dict.fromkeys(shift.text for one in pairs for shift in one.shifts):
        print(f"intervals widened: {text}")


if __name__ == "__main__":
    main()
