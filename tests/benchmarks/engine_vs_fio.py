"""What does an I/O cost, with fio and with the engine? Same target, same CPU.

    .venv/bin/python tests/benchmarks/engine_vs_fio.py [--cells zero-32 zero-1 …]
        [--series 5] [--rounds 9] [--seconds 1] [--t-io-uring PATH] [--place FOLDER]

All programs of a cell run in turn, in the order A B C, then C B A, pinned to one
CPU. Cost is the CPU time of the whole process with its kernel workers (rusage),
less that of a run of one I/O, divided by the I/Os: on a machine with other work it
is far steadier than a rate. Printed are medians, their spread (half the
interquartile range) and what fio takes for what the engine takes, by the medians of the
rounds' ratios. Each aim is a row, held if all series but one hold it.

`t/io_uring` is fio's own benchmark, which comes with fio's source only; for /dev/zero
it has to be told that a character device has a size. The cells of zram and of the loop
device need root; without it they are left out. The file is made in FOLDER.
"""

import argparse
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmark_row import tell
from engine_cells import CELLS, Cell, Setting, made_targets
from engine_programs import PROGRAMS, Measured
from used import in_turn

Runs = dict[str, list[Measured]]
HEAD = f"{'cell':<11} {'program':<14}{'kIOPS':>8}{'CPU ns':>8}{'±%':>5}{'mean us':>9}{'x':>7}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [cell.name for cell in CELLS]
    parser.add_argument("--cells", nargs="+", choices=names, default=names)
    parser.add_argument("--series", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--t-io-uring", type=Path)
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    with made_targets(options.place) as made:
        setting = Setting(made, options.seconds, options.t_io_uring)
        for cell in (cell for cell in CELLS if cell.name in options.cells):
            if setting.targets[cell.target] is None:
                print(f"LEFT OUT: {cell.name}: no {cell.target}", file=sys.stderr)
                continue
            runs = measured(cell, setting, options.series * options.rounds)
            tell_ratios(cell, runs, options.rounds)
            tell_depth(cell, runs)
            show(cell, runs)


def measured(cell: Cell, setting: Setting, rounds: int) -> Runs:
    """All rounds of the programs that can do this cell here."""
    names = [n for n in cell.programs if n != "t/io_uring" or setting.t_io_uring]
    idle_s = [PROGRAMS[name].start_up_s(cell, setting) for name in names]
    rows = in_turn(rounds, *(partial(PROGRAMS[n].run, cell, setting) for n in names))
    return {
        name: [row[at].less(idle_s[at]) for row in rows]
        for at, name in enumerate(names)
    }


def ratios(runs: Runs, name: str) -> list[float]:
    """The CPU time of a program in times the engine's, of each round."""
    pairs = zip(runs[name], runs["engine"], strict=True)
    return [program.cpu_ns / engine.cpu_ns for program, engine in pairs]


def tell_ratios(cell: Cell, runs: Runs, rounds: int) -> None:
    """A row for each program that has an aim."""
    for name in runs:
        if (aim := cell.programs[name]) is None:
            continue
        all_rounds = ratios(runs, name)
        starts = range(0, len(all_rounds), rounds)
        series = [statistics.median(all_rounds[at : at + rounds]) for at in starts]
        needed = max(len(series) - 1, 1)
        each = f" (series: {', '.join(f'{one:.2f}' for one in series)})"
        tell(
            f"{cell.title}: CPU time per I/O of {name} over the engine's",
            f"{statistics.median(series):.2f}{each if len(series) > 1 else ''}",
            f"at least {aim:.2f} in {needed} of {len(series)} series of {rounds} rounds",
            held=sum(one >= aim for one in series) >= needed,
        )


def tell_depth(cell: Cell, runs: Runs) -> None:
    """A row where the device's time outweighs the engine's own."""
    if cell.holds_depth:
        held = statistics.median(one.held_depth(cell.qd) or 0 for one in runs["engine"])
        tell(
            f"{cell.title}: mean latency × IOPS of the engine, of the depth",
            f"{held:.3f}",
            "0.990 to 1.010",
            held=abs(held - 1) <= 0.01,
        )


def show(cell: Cell, runs: Runs) -> None:
    """The table. `x` is the program's CPU time per I/O in times the engine's."""
    print(HEAD)
    for name, found in runs.items():
        costs = [one.cpu_ns for one in found]
        cost_ns = statistics.median(costs)
        low, _, high = statistics.quantiles(costs, n=4) if costs[1:] else costs * 3
        means = [one.mean_ns for one in found if one.mean_ns is not None]
        mean = f"{statistics.median(means) / 1000:.2f}" if means else "-"
        print(
            f"{cell.name:<11} {name:<14}"
            f"{statistics.median(one.iops for one in found) / 1000:8.1f}{cost_ns:8.0f}"
            f"{(high - low) / 2 / cost_ns * 100:5.1f}{mean:>9}"
            f"{statistics.median(ratios(runs, name)):7.2f}"
        )


if __name__ == "__main__":
    main()
