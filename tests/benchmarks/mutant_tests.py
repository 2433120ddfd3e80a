"""Which tests of a room run which blocks, and which of them find a mutant."""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import hypothesis.strategies
import jinja2  # noqa: F401 -- such are shared by the processes
import lark  # noqa: F401
import msgspec  # noqa: F401
import mutation
import numpy
import pydantic  # noqa: F401
import pytest
import rich.console  # noqa: F401
from mutation import LINES, Mutant

QUICK = 20
"""So many of the quickest tests come first, whatever files they are in."""
MORE_S = 120
"""What the process of a mutant may take beyond the time of its tests."""
FOR_EVER_S = 1 << 20
MISSED = "not put in place"
MEMORY_BYTES = 8 << 30
TEMPORARY = tempfile.gettempdir()
Note = dict[str, Any]


class Tests(NamedTuple):
    """Some tests of a room."""

    folders: list[str]
    marks: str
    seconds: float
    """What those of a mutant may take; of CPU time, if none of them is slow."""
    is_slow: bool

    def clock(self) -> float:
        return time.monotonic() if self.is_slow else time.process_time()

    def run(self, paths: list[str], plugin: object) -> int:
        """The exit code of pytest."""
        # pytest's own import hook would come before the mutant: ioplan is a plug-in of it.
        options = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-m", self.marks]
        return int(pytest.main([*options, *paths], [plugin, Drawn()]))


class Drawn:
    """Few examples, which are the same each time, and are not made smaller."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        usual = hypothesis.settings.get_profile("ioplan")
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        few = hypothesis.settings(usual, max_examples=25, phases=phases)
        hypothesis.settings.register_profile("mutants", few)
        hypothesis.settings.load_profile("mutants")


def file_of(test: str) -> str:
    return test.partition("::")[0]


def block_of(mutant: Mutant) -> str:
    return f"{mutation.module_of(mutant.file)}:{mutant.block}"


# --- Processes ------------------------------------------------------------------------


def apart(work: Callable[[Path], object], most_s: float) -> Note:
    """What it notes in a file, in a process of its own, which is ended in time."""
    with tempfile.TemporaryDirectory(
        prefix="m-", dir=TEMPORARY, ignore_cleanup_errors=True
    ) as folder:
        note = Path(folder) / "note"
        if not (child := os.fork()):
            _be_apart(work, note, int(most_s))
        until_s = time.monotonic() + 5 * most_s
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            time.sleep(0.02)
            if time.monotonic() > until_s:
                os.kill(child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        text = note.read_text() if note.exists() else ""
    return {"code": ended[1], **json.loads(text or "{}")}


def end_with_parent() -> None:
    """Whatever ends that."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _be_apart(work: Callable[[Path], object], note: Path, cpu_s: int) -> None:
    code = 70
    try:
        os.setpgid(0, 0)
        end_with_parent()
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        os.environ["TMPDIR"] = str(note.parent)
        tempfile.tempdir = None  # asked again
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0,) if "IOPLAN_SHOWN" in os.environ else (0, 1, 2):
            os.dup2(nowhere, number)
        work(note)
        code = 0
    finally:
        os._exit(code)


# --- Which tests run what -------------------------------------------------------------


class Reach:
    """Notes which blocks each test runs, and what it costs."""

    def __init__(
        self, note: Path, tests: Tests, code: list[Path], share: int, of: int
    ) -> None:
        self.note, self.tests, self.share, self.of = note, tests, share, of
        self.modules = [mutation.module_of(file) for file in mutation.files_of(code)]
        self.costs: dict[str, float] = {}
        self.left_out: dict[str, bool] = {}
        self.blocks: dict[str, list[int]] = defaultdict(list)
        file = note.with_name("map")
        file.write_bytes(bytes(LINES * len(self.modules)))
        mutation.install(os.pathsep.join(map(str, ["", file, *code])))
        with file.open("r+b") as opened:
            self.map = mmap.mmap(opened.fileno(), 0)

    def _blocks(self) -> Iterator[str]:
        """Those that ran since the last time."""
        for at in numpy.flatnonzero(numpy.frombuffer(self.map[:], numpy.uint8)):
            yield f"{self.modules[at // LINES]}:{at % LINES}"
        self.map[:] = bytes(len(self.map))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files = sorted({file_of(item.nodeid) for item in items})[self.share :: self.of]
        items[:] = [item for item in items if file_of(item.nodeid) in files]

    def pytest_collection_finish(self) -> None:
        for module in self.modules:
            with suppress(Exception, SystemExit):
                import_module(module)
        self.on_import = list(self._blocks())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before_s = self.tests.clock()
        try:
            return (yield)
        finally:
            self.costs[item.nodeid] = round(self.tests.clock() - before_s, 3)
            for block in self._blocks():
                self.blocks[block].append(len(self.costs) - 1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.left_out[report.nodeid] = report.failed

    def pytest_sessionfinish(self) -> None:
        names = ("costs", "left_out", "blocks", "on_import")
        self.note.write_text(json.dumps({name: getattr(self, name) for name in names}))


def reach(tests: Tests, code: list[Path], share: int, of: int) -> Note:
    """What that notes in every so many-th file."""

    def work(note: Path) -> None:
        ended = tests.run(tests.folders, Reach(note, tests, code, share, of))
        assert ended in (0, 1, 5), "some are not collected, or it is stopped"

    noted = apart(work, FOR_EVER_S)
    assert not noted["code"], f"these tests do not run: {tests}"
    for test in (test for test, failed in noted["left_out"].items() if failed):
        print(f"left out, as it fails without any mutant: {test}", file=sys.stderr)
    return noted


class Reached(NamedTuple):
    """The tests that run each block, and which blocks run on import."""

    costs: dict[str, float]
    blocks: dict[str, list[str]]
    on_import: set[str]

    @classmethod
    def of(cls, notes: list[Note]) -> Reached:
        reached = cls({}, defaultdict(list), set())
        for note in notes:
            names = list(note["costs"])
            for block, numbers in note["blocks"].items():
                reached.blocks[block] += [names[number] for number in numbers]
            for test in note["costs"].keys() - note["left_out"].keys():
                reached.costs[test] = note["costs"][test]
            reached.on_import.update(note["on_import"])
        return reached

    def is_on_import(self, mutant: Mutant) -> bool:
        return not mutant.block or block_of(mutant) in self.on_import

    def tests(self, mutant: Mutant) -> list[str]:
        """In the order to run them: those that reach it, and then those beside them.

        What the tests of a file share is made by the first of them, and seen in all.
        """
        blocks, beside = [block_of(mutant)], {*self.costs}
        if self.is_on_import(mutant):
            module = f"{mutation.module_of(mutant.file)}:"
            blocks = [block for block in self.blocks if block.startswith(module)]
        direct = {test for block in blocks for test in self.blocks.get(block, ())}
        direct &= self.costs.keys()
        if not self.is_on_import(mutant):
            files = {file_of(test) for test in direct}
            beside = {test for test in beside if file_of(test) in files}
        return self._ordered(direct) + self._ordered(beside - direct)

    def _ordered(self, tests: set[str]) -> list[str]:
        by_cost = sorted(tests, key=lambda test: (self.costs[test], test))
        parts = by_cost[:QUICK], by_cost[QUICK:]
        return [test for part in parts for test in sorted(part, key=file_of)]


# --- Which tests find a mutant --------------------------------------------------------


class Trial:
    """Runs tests in a process of their own until one fails."""

    def __init__(self, tests: Tests, reached: Reached) -> None:
        self.tests, self.reached, self.failed = tests, reached, ""

    def outcome(self, mutant: Mutant) -> Note:
        """`found` and by which test, or `survived`; what fails anyway finds nothing."""
        begun_s = time.monotonic()
        while True:
            tests = self.reached.tests(mutant)
            note = self.attempt(mutant, tests)
            by = note["by"]
            if by not in tests or not self.attempt(None, [by])["by"]:
                break
            del self.reached.costs[by]
        seconds = round(time.monotonic() - begun_s, 2)
        counts = {"ran": note["ran"], "of": len(tests), "seconds": seconds}
        return {"end": "found" if by else "survived", "by": by, **counts}

    def attempt(self, mutant: Mutant | None, tests: list[str]) -> Note:
        """Which test fails, and how many ran; all is imported anew."""
        note, ran = Note(by=""), 0
        for part in (tests[:QUICK], tests[QUICK:]):
            if part and not note["by"]:
                note = self._apart(partial(self._import_anew, mutant, part))
                ran += note["ran"]
        return note | {"ran": ran}

    def _apart(self, work: Callable[[Path], object]) -> Note:
        note = apart(work, 2 * self.tests.seconds + MORE_S)
        return {"by": "when collected" if note["code"] else "", "ran": 0, **note}

    def _import_anew(self, mutant: Mutant | None, tests: list[str], note: Path) -> None:
        if mutant:
            mutation.install(f"{mutant.node}{os.pathsep}{mutant.file}")
        self.chosen, self.note = tests, note
        code = self.tests.run(sorted({file_of(test) for test in tests}), self)
        assert note.exists() or not code

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("not all tests are collected")
        self.items = {item.nodeid: item for item in session.items}
        self.work()
        return True

    def work(self) -> None:
        self.run(self.chosen, self.note)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = report.nodeid if report.failed else self.failed

    def run(self, tests: list[str], note: Path) -> None:
        """Note the test under way, and at the end the one that failed, or none."""
        items = [self.items[test] for test in tests if test in self.items]
        until_s, ran = self.tests.clock() + self.tests.seconds, 0
        for ran, item in enumerate(items, 1):
            note.write_text(json.dumps({"by": f"{item.nodeid} (no end)", "ran": ran}))
            most_s = 60 + 20 * self.reached.costs[item.nodeid]
            item.add_marker(pytest.mark.timeout(most_s), append=False)
            after = items[ran] if ran < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed or self.tests.clock() > until_s:
                break
        note.write_text(json.dumps({"by": self.failed, "ran": ran}))


class Served(Trial):
    """In forks of a process that has collected the tests already."""

    def serve(self, judge: Callable[[Trial], None]) -> None:
        self.judge = judge
        done = apart(lambda note: self.tests.run(self.tests.folders, self), FOR_EVER_S)
        assert not done["code"], "the process that serves has ended early"

    def work(self) -> None:
        gc.unfreeze()
        self.functions = [f for f in gc.get_objects() if type(f) is FunctionType]
        gc.freeze()
        self.judge(self)

    def attempt(self, mutant: Mutant | None, tests: list[str]) -> Note:
        note = self._apart(partial(self._change_codes, mutant, tests))
        assert note["by"] != MISSED, mutant
        return note

    def _change_codes(
        self, mutant: Mutant | None, tests: list[str], note: Path
    ) -> None:
        note.write_text(json.dumps({"by": MISSED}))
        os.environ.pop("PYTEST_HOMES", None)  # so that it has a home of its own
        sys.modules["own_environment"].enter()
        if mutant:
            mutation.install(f"{mutant.node}{os.pathsep}{mutant.file}")
            if mutation.module_of(mutant.file) in sys.modules:
                codes = mutation.changed_codes(mutant)
                name = str(mutant.file)
                made = (f for f in self.functions if f.__code__.co_filename == name)
                changed = [function for function in made if function.__code__ in codes]
                assert changed
                for function in changed:
                    function.__code__ = codes[function.__code__]
        self.run(tests, note)
