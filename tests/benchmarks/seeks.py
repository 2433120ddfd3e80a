"""Is what a seek says true as often as it says, and what does it cost?

    .venv/bin/python tests/benchmarks/seeks.py PART… [--seeks 75] [--write] [--file PATH]

Parts: `arithmetic`, the search and its decisions alone, on targets whose truth is
known; `runner`, the same by sessions on a backend of scripted latencies; `sim`, by
sessions on a simulated drive, whose truth is measured by runs at fixed rates; `file`,
on a real file (--file, made before) against fio's latency_target, interleaved, with the
file's I/Os limited by a cgroup. All but `file` have seeds, so that they come out the same.

--write keeps what was found in tests/golden/seeks.jsonl, from which
`pytest tests/seek/test_proof.py --renew` makes the tables of docs/seek.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import scripted
from command import ioplan, plan_file
from seek_proof import PROOF, Row, file_table, summary, table
from seek_targets import TARGETS, seek

from ioplan.planner import most_probes
from ioplan.planner.seek.grid import Bounds, grid
from ioplan.planner.seeking import CONFIRM_RUNS

IOPLAN = Path(sys.executable).parent / "ioplan"
RUN_S = 30
ROUNDS = 10


def arithmetic(seeks: int, folder: Path) -> Iterator[Row]:
    """The search and the decisions, without a session."""
    for name, (target, bounds) in TARGETS.items():
        rows = []
        for seed in range(seeks):
            sought = seek(target, bounds, seed, RUN_S, CONFIRM_RUNS * RUN_S)
            found = sought.finding
            kept = {key: getattr(found, key) for key in KEPT}
            rows.append(made(bounds, kept, found.probes, sought.cost_s, target.changes))
        yield summary(f"{name}, arithmetic only", rows)


KEPT = ("value", "lower", "upper", "confirmed")


def made(
    bounds: Bounds, found: Row, probes: Any, run_s: float, truths: Sequence[float]
) -> Row:
    """A seek. A sweep has all values that it might have tried, each for one run."""
    return {
        **found,
        "probes": len(probes),
        "bound": most_probes(bounds),
        "run_s": run_s,
        "sweep_s": RUN_S * len(grid(bounds)),
        "truths": list(truths),
    }


def runner(seeks: int, folder: Path) -> Iterator[Row]:
    """By sessions."""
    sys.path.insert(0, str(scripted.install(folder / "installed")))
    for name, (target, bounds) in TARGETS.items():
        plan = plan_file(folder, text_of(bounds, "1ms"))
        rows = [
            session(
                bounds,
                target.changes,
                *("run", plan, "--backend", "scripted", "--option", f"target={name}"),
                *("--option", f"seed={seed}", "--store", folder / f"{name[:3]}.db"),
            )
            for seed in range(seeks)
        ]
        yield summary(name, rows)


def text_of(
    bounds: Bounds, limit: str, more: str = "", before: str = "", after: str = ""
) -> str:
    """A plan that seeks."""
    rates = f"{bounds.lowest:.0f} iops..{bounds.highest:.0f} iops"
    return f"""{before}test "Reads" {{
  {after}
  run  random 4KiB 100/0, qd 64 for {RUN_S}s{more}
  seek highest rate in {rates} where p99 <= {limit}, within 5%
}}
"""


def session(bounds: Bounds, truths: Sequence[float], *command: str | Path) -> Row:
    """One session with one seek."""
    done = ioplan(*command, "--json")
    records = [line["record"] for line in done.of("record")]
    (found,) = (one["found"] for one in records if one.get("found"))
    kept = {
        "value": found["value"],
        "lower": found["yes_at"],
        "upper": found["no_at"],
        "confirmed": found["confirmed"],
    }
    return made(bounds, kept, range(found["probes"]), found["run_s"], truths)


SIM = Bounds(10_000.0, 1_000_000.0)
SIM_LIMITS_US = range(150, 225)
SIM_RATES = [rate for rate in grid(SIM) if 100_000 < rate < 700_000]
SIM_REPEATS = 40
SIM_SIZE = "16GiB"
FILLED = "precondition filled { write sequential 128KiB, qd 32, 1 pass }"


def sim(seeks: int, folder: Path) -> Iterator[Row]:
    """With a limit of its own, each seek has a truth of its own."""
    p99_by_rate = sim_truth(folder)
    rows = []
    for limit_us in SIM_LIMITS_US[:seeks]:
        more = ", warmup 1s", f"{FILLED}\n", "after filled"
        plan = plan_file(folder, text_of(SIM, f"{limit_us}us", *more), f"{limit_us}")
        truths = [*changes(p99_by_rate, 1000 * limit_us)]
        rows.append(session(SIM, truths, *on_sim(plan, folder / "sim.db")))
    yield summary("simulated drive", rows)


def on_sim(plan: Path, store: Path) -> list[str | Path]:
    """A command."""
    target = ("--backend", "sim", "--create", SIM_SIZE)
    return ["run", plan, *target, "--store", store]


def sim_truth(folder: Path) -> dict[float, float]:
    """The p99 of each rate, in ns: the mean of many runs, as no two are alike."""
    rates = ", ".join(f"{rate:.0f} iops" for rate in SIM_RATES)
    plan = f"""{FILLED}
test "Truth" {{
  after filled
  repeat {SIM_REPEATS} {{ run random 4KiB 100/0, qd 64 for {RUN_S}s, warmup 1s }}
  vary rate in {rates}
}}
"""
    done = ioplan(*on_sim(plan_file(folder, plan), folder / "truth.db"), "--json")
    by_rate: dict[float, list[float]] = {rate: [] for rate in SIM_RATES}
    for record in (line["record"] for line in done.of("record")):
        if record["asked"]["kind"] == "run":
            rate = record["asked"]["workload"]["streams"][0]["rate"]["iops"]
            by_rate[rate].append(p99_ns(record["total"]))
    return {rate: fmean(found) for rate, found in by_rate.items()}


def changes(p99_by_rate: dict[float, float], limit_ns: float) -> Iterator[float]:
    """Where yes turns to no, and back: between neighbours, as the model is not smooth."""
    pairs = [(rate, p99 <= limit_ns) for rate, p99 in p99_by_rate.items()]
    for (rate, holds), (next_rate, next_holds) in pairwise([(1.0, True), *pairs]):
        if holds != next_holds:
            yield sqrt(rate * next_rate)


def p99_ns(total: Any) -> float:
    """Of a record."""
    percentiles = total["latency"]["percentiles"]
    return next(one["latency_ns"] for one in percentiles if one["percent"] == 99)


FILE_PLAN = """test "Depth" {{
  run random 4KiB 100/0 for {run_ms}ms, warmup 500ms
  seek highest qd in 1..64 where p{percent} <= {limit_ms}ms, confirm {confirm_ms}ms
}}
"""
FILE_RUN_MS, FILE_CONFIRM_MS = 500, 4_000
FILE_PERCENT, FILE_LIMIT_MS = 90, 5
FIO_WINDOW_MS, FIO_S = 500, 30
"""A window is as long as a run of ours; fio ends when its search has."""
IOPS = 2_000
"""The kernel lets so many through, in parts for each tenth of a second: those of each
that come too late wait for the next. They are as many as are outstanding, so that a
tenth is slow at a depth of 20, whatever else the machine does."""
CGROUP = Path("/sys/fs/cgroup/blkio/ioplan-seeks")
IN_CGROUP = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', CGROUP)


@contextmanager
def limited(path: Path) -> Iterator[None]:
    """What reads the file within has that many reads a second (cgroup v1, root)."""
    device = path.stat().st_dev
    CGROUP.mkdir()
    try:
        limit = CGROUP / "blkio.throttle.read_iops_device"
        limit.write_text(f"{os.major(device)}:{os.minor(device)} {IOPS}")
        yield
    finally:
        CGROUP.rmdir()


def file(path: Path, folder: Path) -> list[Row]:
    """The highest depth with that percentile below the limit: A B, then B A."""
    sides: dict[str, Row] = {
        name: {"by": name, "values": [], "seconds": []} for name in ("ioplan", "fio")
    }
    for number in range(ROUNDS):
        order = ("ioplan", "fio") if number % 2 else ("fio", "ioplan")
        for name in order:
            began = time.monotonic()
            found = by_ioplan if name == "ioplan" else by_fio
            sides[name]["values"].append(found(path, folder))
            sides[name]["seconds"].append(time.monotonic() - began)
        print(number, {n: one["values"][-1] for n, one in sides.items()}, flush=True)
    return list(sides.values())


def by_ioplan(path: Path, folder: Path) -> float:
    """A process of its own, as fio is."""
    text = FILE_PLAN.format(
        run_ms=FILE_RUN_MS,
        confirm_ms=FILE_CONFIRM_MS,
        percent=FILE_PERCENT,
        limit_ms=FILE_LIMIT_MS,
    )
    plan, store = plan_file(folder, text), folder / "file.db"
    command = [IOPLAN, "run", plan, "--target", path, "--store", store, "--json"]
    lines = map(json.loads, limited_output(command).splitlines())
    records = [line["record"] for line in lines if line["type"] == "record"]
    (found,) = (one["found"] for one in records if one.get("found"))
    return float(found["value"] or 0)


def by_fio(path: Path, folder: Path) -> float:
    """The depth that it settled on."""
    command = [
        "fio", "--name=seek", f"--filename={path}", "--ioengine=io_uring", "--direct=1",
        "--rw=randread", "--bs=4k", "--iodepth=64", "--time_based", "--norandommap",
        f"--runtime={FIO_S}", f"--latency_target={FILE_LIMIT_MS}ms",
        f"--latency_window={FIO_WINDOW_MS}ms", f"--latency_percentile={FILE_PERCENT}",
        "--output-format=json", "--randrepeat=0",
    ]  # fmt: skip
    text = limited_output(command)
    found = json.loads(text[text.index("{") :])["jobs"][0]
    return float(found["latency_depth"])


def limited_output(command: Sequence[str | Path]) -> str:
    """What it prints, with few reads a second."""
    whole = [*IN_CGROUP, *command]
    return subprocess.run(whole, capture_output=True, text=True, check=False).stdout


PARTS = {"arithmetic": arithmetic, "runner": runner, "sim": sim}


def main() -> None:
    """Do the parts, and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "file"])
    parser.add_argument("--seeks", type=int, default=75)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        for part in options.parts:
            if part == "file":
                with limited(options.file):
                    found = file(options.file, Path(name))
            else:
                found = list(PARTS[part](options.seeks, Path(name)))
            print(json.dumps(found, indent=1))
            PROOF.put(part, input=found)
    if options.write:
        PROOF.write()
    if {*PARTS, "file"} <= PROOF.keys():
        print(table(), file_table(), sep="\n")


if __name__ == "__main__":
    main()
