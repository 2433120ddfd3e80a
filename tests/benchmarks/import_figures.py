"""What of other people's files can be imported, and whether it does the same.

    python tests/benchmarks/import_figures.py --examples FIO/examples --fiosynth FIOSYNTH
    python tests/benchmarks/import_figures.py --fiosynth FIOSYNTH --families
    python tests/benchmarks/import_figures.py --pairs [--seconds 2] [--rounds 5]

The folders are clones of fio and of FioSynth, which are no part of this repository. With
--write the tables replace those in docs/import.md. About two minutes for the files, and
six for the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import paths
from command import ioplan

from ioplan.language import Source
from ioplan_importer import ImportedPlan, ImportFault, import_plan, kind_of
from ioplan_importer.proof.prove import prove

DOCUMENT = paths.ROOT / "docs" / "import.md"
FILE_BYTES = 256 << 20
FAMILY_SIZES, FAMILY_SCALE = ("64MiB", "2GiB", "128GiB"), 3e-5
"""The first that a suite's regions and discards fit; ten hours become a second."""
PAIRS = {
    "random reads, one at a time": "rw=randread\nbs=4k",
    "random reads, 16 outstanding": "rw=randread\nbs=4k\niodepth=16",
    "random writes, 8 outstanding": "rw=randwrite\nbs=4k\niodepth=8",
    "sequential reads": "rw=read\nbs=128k\niodepth=4",
    "sequential writes": "rw=write\nbs=128k\niodepth=4",
    "the same, with refill_buffers": "rw=write\nbs=128k\niodepth=4\nrefill_buffers",
    "mixed 70/30": "rw=randrw\nrwmixread=70\nbs=8k\niodepth=8",
    "several sizes": "rw=randread\nbssplit=4k/60:16k/30:64k/10\niodepth=4",
    "two jobs": "rw=randread\nbs=4k\niodepth=4\nnumjobs=2\ngroup_reporting",
    "at a rate": "rw=randread\nbs=4k\niodepth=16\nrate_iops=1000",
    "with think time": "rw=randread\nbs=4k\nthinktime=2ms",
}
"""Jobs of one section each, for a file of 256 MiB."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--fiosynth", type=Path)
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.examples and options.fiosynth:
        table = list(file_rows(options.examples, options.fiosynth))
        show("files", table, options.write)
    if options.fiosynth and options.families:
        table = list(family_rows(options.fiosynth))
        show("families", table, options.write)
    if options.pairs:
        table = list(pair_rows(options.seconds, options.rounds))
        show("pairs", table, options.write)
    return 0


def show(name: str, rows: list[str], write: bool) -> None:
    """Print a table, or put it between its marks in the document."""
    text = "\n".join(rows)
    print(text)
    if write:
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before = DOCUMENT.read_text()
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        made = re.sub(pattern, lambda _: begin + text + end, before, flags=re.DOTALL)
        assert made != before or text in before
        DOCUMENT.write_text(made)


def file_rows(examples: Path, fiosynth: Path) -> Iterator[str]:
    """How many files import whole, with losses, and not at all."""
    yield "| files | whole | with losses | refused, with a reason |"
    yield "|---|---|---|---|"
    jobs = [path for path in sorted(examples.glob("*.fio"))]
    suites = sorted((fiosynth / "wkldsuites").iterdir())
    whole: list[tuple[Source, ImportedPlan]] = []
    for name, files in (
        (f"{len(jobs)} examples of fio", jobs),
        (f"{len(suites)} suites of FioSynth", suites),
    ):
        counts: Counter[str] = Counter()
        for path in files:
            counts[outcome(path, whole)] += 1
        yield f"| {name} | {counts['whole']} | {counts['losses']} | {counts['refused']} |"
    yield from ("", proven([(s, m) for s, m in whole if s.name.endswith(".fio")]))


def family_rows(fiosynth: Path) -> Iterator[str]:
    """One suite of each family (the word before the first `_`), run with short times."""
    counts: Counter[str] = Counter()
    families: dict[str, Path] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        for path in sorted((fiosynth / "wkldsuites").iterdir()):
            family = path.name.split("_")[0].lower()
            plan = Path(name) / f"{path.name}.ioplan"
            if family in families:
                continue
            if ioplan("import", "fiosynth", path, "-o", plan, "--force").code < 2:
                families[family] = plan
        for family, plan in families.items():
            for where in ("sim", "a scratch file"):
                counts[where] += runs_on(where, family, plan, Path(name))
    yield "| families | run on sim | run on a scratch file |"
    yield "|---|---|---|"
    yield f"| {len(families)} | {counts['sim']} | {counts['a scratch file']} |"


def runs_on(where: str, family: str, plan: Path, folder: Path) -> bool:
    """Whether each run of the plan ends well; its expectations are those of a drive."""
    for size in FAMILY_SIZES:
        file = folder / f"{size}.bin"
        targets = {"sim": ("--backend", "sim"), "a scratch file": ("--target", file)}
        if size == FAMILY_SIZES[-1] and (where != "sim" or "pass" in plan.read_text()):
            break  # it would take hours
        store = ("--store", folder / f"{where}-{family}-{size}.db")
        words = ("--create", size, "--scale-time", str(FAMILY_SCALE), "-q")
        done = ioplan("run", plan, *targets[where], *words, *store)
        if "does not fit" in done.err:
            continue
        runs = json.loads(ioplan("export", "--format", "json", *store).out)["runs"]
        if all(run["status"] == "ok" for run in runs):
            return True
        break
    print(f"{family} on {where}: {done.err[-400:]}", file=sys.stderr)
    return False


def outcome(path: Path, whole: list[tuple[Source, ImportedPlan]]) -> str:
    """`whole`, `losses` or `refused`; anything else raises."""
    source = Source(str(path), path.read_text())
    try:
        made = import_plan(source, kind_of(source), {})
    except ImportFault as fault:
        assert fault.diagnostic.render()
        return "refused"
    assert made.plan, f"{path}: {made.found[-1].render()}"
    if made.is_whole:
        whole.append((source, made))
    return "whole" if made.is_whole else "losses"


def proven(whole: list[tuple[Source, ImportedPlan]]) -> str:
    """What `--prove` finds of those that import whole."""
    found = [
        one
        for source, made in whole
        if made.plan
        for one in prove(source, made.plan, {})
    ]
    equal = sum(one.holds for one in found)
    options = sum(one.equal for one in found)
    ios = sum(one.ios or 0 for one in found if one.same_ios)
    for one in found:
        if not one.holds:
            print(one, file=sys.stderr)
    return (
        f"Of the examples that import whole, `--prove` finds {equal} of {len(found)} jobs "
        f"equal: {options} options, and {ios:_} I/Os that fio makes of both."
    )


def pair_rows(seconds: int, rounds: int) -> Iterator[str]:
    """Medians over interleaved rounds; the plan against the job that it came from."""
    yield (
        "| job | its IOPS | IOPS: the job again | plan on fio | plan on io_uring | "
        "mean: the job again | plan on fio | plan on io_uring |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        target = folder / "target.bin"
        fill(folder, target)
        for title, options in PAIRS.items():
            yield pair_row(title, options, folder, target, seconds, rounds)


def fill(folder: Path, target: Path) -> None:
    """A scratch file of ioplan's, which it may write without being told so."""
    plan = folder / "fill.ioplan"
    plan.write_text('test "Fill" { run sequential 1MiB 0/100, qd 4, 1 pass }\n')
    words = (
        "run",
        plan,
        "--target",
        target,
        "--create",
        f"{FILE_BYTES >> 20}MiB",
        "-q",
    )
    assert ioplan(*words, "--store", folder / "results.db").code == 0


def pair_row(
    title: str, options: str, folder: Path, target: Path, seconds: int, rounds: int
) -> str:
    """One job, and what its plan does on two backends."""
    job = folder / "job.fio"
    head = f"[job]\nioengine=io_uring\ndirect=1\nfilename={target}\nthread\n"
    tail = f"norandommap\ntime_based\nruntime={seconds}s\n"
    job.write_text(f"{head}{options}\n{tail}")
    plan = folder / "job.ioplan"
    assert ioplan("import", job, "-o", plan, "--force").code == 0
    pinned = folder / "pinned.fio"  # to the CPUs that ioplan takes: the last first
    cpus = ",".join(
        map(str, sorted(os.sched_getaffinity(0))[-1 - ("numjobs" in options) :])
    )
    split = "cpus_allowed_policy=split\n"
    pinned.write_text(f"{job.read_text()}cpus_allowed={cpus}\n{split}")
    ways: dict[str, Callable[[], tuple[float, float]]] = {
        "job": lambda: by_fio(pinned),
        "again": lambda: by_fio(pinned),
        "fio": lambda: by_plan(plan, target, "fio"),
        "io_uring": lambda: by_plan(plan, target, "io_uring"),
    }
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(rounds):
        for way in sorted(ways, reverse=bool(number % 2)):
            found[way].append(ways[way]())
    iops = statistics.median(one for one, _ in found["job"])
    ratios = [
        ratio(found["job"], found[way], i)
        for i in range(2)
        for way in ("again", "fio", "io_uring")
    ]
    return f"| {title} | {iops:,.0f} | {' | '.join(ratios)} |"


def ratio(
    base: list[tuple[float, float]], other: list[tuple[float, float]], i: int
) -> str:
    """The median of the rounds' ratios, with the quartiles."""
    found = [o[i] / b[i] for b, o in zip(base, other, strict=True)]
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def by_fio(job: Path) -> tuple[float, float]:
    """IOPS and the mean of the total latency, over reads and writes."""
    words = ["fio", "--output-format=json", "--eta=never", str(job)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    (found,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    parts = [found["read"], found["write"]]
    ios = sum(part["total_ios"] for part in parts)
    spent = sum(part["total_ios"] * part["lat_ns"]["mean"] for part in parts)
    return sum(part["iops"] for part in parts), spent / ios


def by_plan(plan: Path, target: Path, backend: str) -> tuple[float, float]:
    """The same of an imported plan."""
    store = ("--store", plan.parent / "results.db")
    words = ("run", plan, "--target", target, "--backend", backend, "-q")
    consent = ("--overwrite", target, "--overwrite-data", target)
    done = ioplan(*words, "--allow", "rate", *consent, *store)
    assert done.code == 0, done.err
    (run,) = json.loads(ioplan("export", "--format", "json", *store).out)["runs"]
    return run["total"]["iops"], run["total"]["latency"]["mean_ns"]


if __name__ == "__main__":
    sys.exit(main())
