"""Which share of small defects the tests of a room find, by mutation.

    .venv/bin/python tests/benchmarks/mutants.py [ROOM ...] [--seed 27] [--took 150]
        [--slow] [--label NAME] [--tests FOLDER] [--workers 2] [--seconds 120]
        [--rows FOLDER] [--found-by LABEL] [--compare BEFORE AFTER]

Each mutant is one change of an expression or a statement in a room (`mutation.py`). The
room's tests that run the changed line's block are run, the quickest first, until one fails
that passes without the change; `--seconds` is the most that they get. What runs on import
is reached by all. `--slow` goes on with the slow tests where the fast ones find nothing.

The seed and the code draw the mutants, whatever the tests are: `--tests` are another
version's. A row of each mutant is kept for each `--label` in the folder of `--rows`, a
started run is gone on with, and `--compare` lays two labels side by side. `--found-by`
leaves out what the tests of that label do not find: only the others can be lost.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import mutation
from mutant_tests import Reached, Served, Tests, Trial, end_with_parent, reach
from mutation import Mutant

ROOT = Path(__file__).resolve().parents[2]
FAST = "not slow and not machine and not long"
SLOW = "(slow or machine) and not long"
SHOWN = os.dup(1)
Row = dict[str, Any]


class Room(NamedTuple):
    """Folders of code, below one, and folders of tests."""

    below: str
    code: str
    tests: str

    @property
    def folders(self) -> list[Path]:
        return [ROOT / self.below / name for name in self.code.split()]


RUNNER, RESULTS = "dsl/ioplan/runner", "dsl/ioplan/results"
SESSION = "doctor events execute host lab prepare seek session state telemetry"
COMMANDS = "cli compare history planner report share store targets trace"
ROOMS = {
    "language": Room("dsl/ioplan", "language", "language"),
    "planner": Room("dsl/ioplan", "planner", "planner seek suites"),
    "measure": Room(RESULTS, "measure", "measure"),
    "guard": Room(RUNNER, "guard content devices", "guard content targets"),
    "session": Room(RUNNER, SESSION, "runner host seek targets telemetry"),
    "store": Room(RESULTS, "store share exports", "store share"),
    "compare": Room(RESULTS, "compare history", "compare history"),
    "report": Room(RESULTS, "report", "report"),
    "cli": Room("dsl/ioplan", "cli", COMMANDS),
    "importer": Room("plugins", "importer", "importer"),
    "lab": Room("plugins", "lab", "lab"),
    "records": Room("dsl/ioplan", "records", "runner share store"),
    "trace": Room("dsl/ioplan", "trace", "trace"),
    "fio": Room("plugins", "fio", "backends"),
    "spdk": Room("plugins", "spdk", "backends"),
    "sim": Room("plugins", "sim", "backends"),
    "witness": Room("plugins/witness", "ioplan_witness", "witness"),
    "editor": Room("plugins", "editor", "editors lsp"),
}


class Rows:
    """What is known of the mutants of a room and a seed, a line each in a file."""

    def __init__(self, folder: Path, room: str, seed: int) -> None:
        self.file = folder / f"{room}-{seed}.jsonl"
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.rows: list[Row] = [json.loads(line) for line in lines]

    def write(self, row: Row) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def ends(self, label: str) -> dict[str, Row]:
        """By mutant, of the last version of tests, fast and slow ones together."""
        labelled = [row for row in self.rows if row["label"] == label]
        last = {row["slow"]: row["digest"] for row in labelled}
        ends = dict[str, Row]()
        for row in sorted(labelled, key=lambda row: row["slow"]):
            before = ends.get(row["mutant"], {"end": ""})["end"]
            is_less = row["end"] == "not reached" and before == "survived"
            if row["digest"] == last[row["slow"]] and before != "found" and not is_less:
                ends[row["mutant"]] = row
        return ends


def drawn(room: str, seed: int, count: int) -> list[Mutant]:
    """Those of the least digests: a change of the code changes only those of it."""

    def digest(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()

    return sorted(mutation.mutants(ROOMS[room].folders), key=digest)[:count]


class Run:
    """The fast or the slow tests of a room against its mutants."""

    def __init__(self, room: str, asked: argparse.Namespace, is_slow: bool) -> None:
        self.room, self.asked = room, asked
        folders = [asked.tests / name for name in ROOMS[room].tests.split()]
        self.folders = [folder for folder in folders if folder.exists()]
        paths = [str(folder) for folder in self.folders]
        self.tests = Tests(paths, SLOW if is_slow else FAST, asked.seconds, is_slow)
        self.rows = Rows(asked.rows, room, asked.seed)
        self.same = {"label": asked.label, "slow": is_slow, "digest": self._digest()}
        sample = drawn(room, asked.seed, asked.took)
        others = self.rows.ends(asked.found_by)
        self.sample = [
            mutant
            for mutant in sample
            if others.get(mutant.key, {"end": "found"})["end"] == "found"
        ]

    def _digest(self) -> str:
        """Of all that says which tests run what."""
        code = [ROOT / "dsl", ROOT / "plugins", self.asked.tests / "support"]
        sums = hashlib.sha256(f"{self.tests.marks} {ROOMS[self.room]}".encode())
        for file in mutation.files_of([*code, *self.folders]):
            sums.update(f"{file.name} {file.stat().st_size}\n".encode())
            sums.update(file.read_bytes())
        return sums.hexdigest()[:16]

    def reached(self) -> Reached:
        """Asked once for the same code and tests."""
        code, workers = ROOMS[self.room].folders, self.asked.workers
        name = f"{self.room}-{self.same['digest']}"
        files = [self.asked.rows / f"{name}-{n}-{workers}.json" for n in range(workers)]

        def work(number: int) -> None:
            if not files[number].exists():
                noted = reach(self.tests, code, number, workers)
                files[number].write_text(json.dumps(noted))

        side_by_side(workers, work)
        return Reached.of([json.loads(file.read_text()) for file in files])

    def try_all(self) -> None:
        """Write a row of each mutant that has none, or is to be tried by slow tests."""
        reached, done = self.reached(), self._done()
        later, now = list[int](), list[int]()
        for number, mutant in enumerate(self.sample):
            if mutant.key in done:
                continue
            if not reached.tests(mutant):
                self._write(number, {"end": "not reached", "seconds": 0})
            elif reached.is_on_import(mutant) or not mutation.changed_codes(mutant):
                later.append(number)
            else:
                now.append(number)
        to_serve, to_import = queue(now), queue(later)

        def judge(numbers: Iterator[int], trial: Trial) -> None:
            for number in numbers:
                self._write(number, trial.outcome(self.sample[number]))

        def work(number: int) -> None:
            if now:
                served = Served(self.tests, reached)
                served.serve(lambda trial: judge(to_serve, trial))
            judge(to_import, Trial(self.tests, reached))

        side_by_side(self.asked.workers, work)

    def _done(self) -> set[str]:
        ends = self.rows.ends(self.asked.label)
        slow = {
            key for key in ends if ends[key]["end"] == "found" and self.tests.is_slow
        }
        same = [row for row in self.rows.rows if self.same.items() <= row.items()]
        return slow | {row["mutant"] for row in same}

    def _write(self, number: int, end: Row) -> None:
        mutant = self.sample[number]
        at = f"{mutant.file.relative_to(ROOT)}:{mutant.line}"
        self.rows.write({"mutant": mutant.key, "at": at, **self.same, **end})
        text = f"{self.room} {at}: {end['end']} {end.get('by', '')}\n"
        os.write(SHOWN, text.encode())


def queue(numbers: list[int]) -> Iterator[int]:
    """They are divided among the processes that are forked after."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(number.to_bytes(4, "big") for number in numbers))
    os.close(writing)
    taken = iter(lambda: os.read(reading, 4), b"")
    return (int.from_bytes(number, "big") for number in taken)


def side_by_side(workers: int, work: Callable[[int], None]) -> None:
    """The same in several processes, by number."""

    def end_with_these(number: int) -> None:
        end_with_parent()
        work(number)

    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=end_with_these, args=(n,)) for n in range(workers)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    if any(child.exitcode for child in children):
        raise SystemExit("a worker has failed")


def table(rooms: list[str], labels: list[str], asked: argparse.Namespace) -> None:
    """Ends by room and label, and what the first one's tests find and the last one's do not."""
    lost = []
    print(
        "room      tests     drawn  found by slow  survived  cut  not reached  minutes"
    )
    for room in rooms:
        rows = Rows(asked.rows, room, asked.seed)
        ends = {label: rows.ends(label) for label in labels}
        for label in labels:
            print(f"{room:10}{label:10}{counts(list(ends[label].values()))}")
        for key, row in ends[labels[0]].items():
            other = ends[labels[-1]].get(key, row)["end"]
            if row["end"] == "found" != other:
                lost.append(f"{row['at']} {key}: {other}, found by {row['by']}")
    if len(labels) > 1:
        print(f"{len(lost)} found by {' and not by '.join(labels)}", *lost, sep="\n  ")


def counts(rows: list[Row]) -> str:
    """`cut` are those that survive as far as there was time."""
    ends = Counter(row["end"] for row in rows)
    slow = sum(row["slow"] and row["end"] == "found" for row in rows)
    cut = sum(row["end"] == "survived" and row["ran"] < row["of"] for row in rows)
    return (
        f"{len(rows):5}{ends['found']:7}{slow:8}{ends['survived']:10}{cut:5}"
        f"{ends['not reached']:13}{sum(row['seconds'] for row in rows) / 60:9.1f}"
    )


def main() -> None:
    """Prints a line a mutant, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", help=" ".join(ROOMS))
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--took", type=int, default=150)
    parser.add_argument("--label", default="now")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests")
    parser.add_argument("--slow", action="store_true", help="slow tests, too")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--found-by", default="", metavar="LABEL")
    parser.add_argument("--rows", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"))
    asked = parser.parse_args()
    asked.rows, asked.tests = asked.rows.resolve(), asked.tests.resolve()
    rooms = asked.rooms or list(islice(ROOMS, 11))
    if not asked.compare:
        asked.rows.mkdir(parents=True, exist_ok=True)
        hook = Path(sysconfig.get_path("purelib")) / "ioplan_mutants.pth"
        hook.write_text(mutation.HOOK)
        os.chdir(asked.tests.parent)
        sys.path[0] = str(asked.tests.parent)  # as `python -m pytest` has it
        for room in rooms:
            for is_slow in (False, True) if asked.slow else (False,):
                Run(room, asked, is_slow).try_all()
    table(rooms, asked.compare or [asked.label], asked)


if __name__ == "__main__":
    main()
