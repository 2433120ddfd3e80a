"""What does an I/O cost, with fio and with the engine? Same target, same CPU.

    .venv/bin/python tests/benchmarks/engine_vs_fio.py [--cells zero-32 zero-1 …]
        [--series 5] [--rounds 9] [--seconds 1] [--t-io-uring PATH] [--file PATH]
        [--zram PATH] [--loop PATH] [--instructions] [--json PATH]

All programs of a cell run in turn, in the order A B C, then C B A, pinned to one
CPU. Cost is the CPU time of the whole process with its kernel workers (rusage),
less that of a run of one I/O, divided by the I/Os: on a machine with other work it
is far steadier than a rate. Printed are medians, their spread (half the
interquartile range) and what fio takes for what the engine takes, by the medians of the
rounds' ratios. Each aim is a row, held if all series but one hold it.

`--instructions` counts instructions per I/O outside the kernel, by callgrind: a
figure without noise. `t/io_uring` is fio's own benchmark, which comes with fio's
source only; for /dev/zero it has to be told that a character device has a size.
The cells of zram and of the loop device need root; without it they are left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from benchmark_row import tell
from engine_cells import CELLS, Cell, Setting
from engine_programs import PROGRAMS, Measured
from engine_targets import file_target, loop_target, zram_target

Found = dict[str, dict[str, list[Measured]]]


def main() -> int:
    """Measure, print, and write the JSON if it is asked for."""
    options = arguments()
    with ExitStack() as stack:
        targets: dict[str, str | None] = {
            "/dev/zero": "/dev/zero",
            "file": options.file or stack.enter_context(file_target(options.place)),
            "zram": options.zram or stack.enter_context(zram_target()),
        }
        file = targets["file"]
        assert file
        targets["loop"] = options.loop or stack.enter_context(loop_target(file))
        setting = Setting(targets, options.seconds, options.t_io_uring)
        cells = [cell for cell in CELLS if cell.name in options.cells]
        found = measure(cells, setting, options.series, options.rounds)
        counted = instructions(cells, setting) if options.instructions else {}
    rows = list(summary(cells, found, counted))
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [cell.name for cell in CELLS]
    parser.add_argument("--cells", nargs="+", choices=names, default=names)
    parser.add_argument("--series", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--t-io-uring", type=Path)
    parser.add_argument("--file")
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--zram")
    parser.add_argument("--loop")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def programs_of(cell: Cell, setting: Setting) -> list[str]:
    """The programs that can do this cell here."""
    if setting.targets[cell.target] is None:
        print(f"LEFT OUT: {cell.name}: no {cell.target} here", file=sys.stderr)
        return []
    without = set() if setting.t_io_uring else {"t/io_uring"}
    return [name for name in cell.programs if name not in without]


def measure(cells: list[Cell], setting: Setting, series: int, rounds: int) -> Found:
    """All rounds, the order turned round every time; the rows of each cell."""
    found: Found = {}
    for cell in cells:
        names = programs_of(cell, setting)
        found[cell.name] = {name: [] for name in names}
        idle = {name: PROGRAMS[name].start_up_s(cell, setting) for name in names}
        for number in range(series * rounds):
            for name in names if number % 2 == 0 else reversed(names):
                one = PROGRAMS[name].run(cell, setting)
                found[cell.name][name].append(one.less(idle[name]))
        tell_ratios(cell, found[cell.name], rounds)
        tell_depth(cell, found[cell.name])
    return found


def instructions(cells: list[Cell], setting: Setting) -> dict[tuple[str, str], float]:
    """Instructions per I/O outside the kernel, by cell and program.

    A program that was built for this processor may have some that valgrind lacks.
    """
    counted = {}
    for cell in cells:
        for name in programs_of(cell, setting):
            with suppress(subprocess.CalledProcessError):
                count = PROGRAMS[name].instructions_per_io(cell, setting)
                if count is not None:
                    counted[cell.name, name] = count
        tell_instructions(cell, counted.get((cell.name, "engine")))
    return counted


def spread_percent(values: list[float]) -> float:
    """Half the interquartile range, relative to the median."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / statistics.median(values) * 100


def summary(
    cells: list[Cell], found: Found, counted: dict[tuple[str, str], float]
) -> Iterator[dict[str, Any]]:
    """A row for each program of each cell; the engine's own row is the last."""
    for cell in cells:
        medians = {
            name: statistics.median(one.cpu_ns for one in runs)
            for name, runs in found[cell.name].items()
        }
        for name, runs in found[cell.name].items():
            costs = [one.cpu_ns for one in runs]
            means = [one.mean_ns for one in runs if one.mean_ns is not None]
            depths = [one.held_depth(cell.qd) for one in runs]
            held = [depth for depth in depths if depth is not None]
            yield {
                "cell": cell.name,
                "program": name,
                "iops": statistics.median(one.iops for one in runs),
                "iops_spread_percent": spread_percent([one.iops for one in runs]),
                "cpu_ns": medians[name],
                "cpu_spread_percent": spread_percent(costs),
                "mean_ns": statistics.median(means) if means else None,
                "times_engine": statistics.median(ratios(found[cell.name], name)),
                "held_depth": statistics.median(held) if held else None,
                "target": cell.programs[name],
                "instructions": counted.get((cell.name, name)),
            }


def ratios(runs: dict[str, list[Measured]], name: str) -> list[float]:
    """The CPU time of a program in times the engine's, of each round."""
    pairs = zip(runs[name], runs["engine"], strict=True)
    return [program.cpu_ns / engine.cpu_ns for program, engine in pairs]


def tell_ratios(cell: Cell, runs: dict[str, list[Measured]], rounds: int) -> None:
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


def tell_instructions(cell: Cell, instructions: float | None) -> None:
    """A row where there is an aim."""
    if cell.instructions and instructions:
        tell(
            f"{cell.title}: the engine's instructions per I/O outside the kernel",
            f"{instructions:.0f}",
            f"at most {cell.instructions}",
            held=instructions <= cell.instructions,
        )


def tell_depth(cell: Cell, runs: dict[str, list[Measured]]) -> None:
    """A row where the device's time outweighs the engine's own."""
    if cell.holds_depth and "engine" in runs:
        held = statistics.median(
            one.held_depth(cell.qd) or 0.0 for one in runs["engine"]
        )
        tell(
            f"{cell.title}: mean latency × IOPS of the engine, of the depth",
            f"{held:.3f}",
            "0.990 to 1.010",
            held=abs(held - 1) <= 0.01,
        )


def show(rows: list[dict[str, Any]]) -> None:
    """The table. `x` is the program's CPU time per I/O in times the engine's."""
    print(
        "cell        program          kIOPS   ±%  CPU ns   ±%    mean us  depth      x  aim"
        "  instr"
    )
    for row in rows:
        mean = "-" if row["mean_ns"] is None else f"{row['mean_ns'] / 1000:.2f}"
        held = "-" if row["held_depth"] is None else f"{row['held_depth']:.3f}"
        aim = "" if row["target"] is None else f"{row['target']:.2f}"
        count = "" if row["instructions"] is None else f"{row['instructions']:.0f}"
        print(
            f"{row['cell']:<11} {row['program']:<14}{row['iops'] / 1000:8.1f}"
            f" {row['iops_spread_percent']:4.0f}{row['cpu_ns']:8.0f}"
            f" {row['cpu_spread_percent']:4.1f} {mean:>10} {held:>6}"
            f" {row['times_engine']:6.2f} {aim:>4} {count:>6}"
        )


if __name__ == "__main__":
    sys.exit(main())
