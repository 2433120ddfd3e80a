"""From what a person asks for to an entry of the queue: checked, and with its cost."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.core import ExplainedError, bytes_text, did_you_mean, time_text
from ioplan.language import CheckedPlan, PlanError, SuiteError, check_file, read_text
from ioplan.planner import between, suite_files
from ioplan.records import RunRequest
from ioplan.runner import Lab, plan_folders, read_lab
from ioplan.runner.guard import (
    MAX_BYTES,
    ConsentList,
    OutputError,
    output_file,
    signed_list,
)
from ioplan_lab.desk.calls import Calls, said
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.queue.ask import drives_named, priority_named, wanted
from ioplan_lab.desk.queue.entry import Priority, QueueEntry
from ioplan_lab.desk.start.start_form import StartForm

# Plans that can be started from a page: those of the lab, the suites, and texts.

SUFFIX = ".ioplan"
LAB = "of the lab"
MOST_FILES = 2000


class PlanLibrary:
    """Plans by name; a name is looked up in what there is, and never opened itself.

    Methods read folders. Raises DeskError, LabError, OSError.
    """

    def __init__(self, folder: Path, lab_file: Path | None) -> None:
        """`folder` is the desk's, for texts."""
        self.folder, self.lab_file = folder / "plans", lab_file

    def groups(self) -> dict[str, dict[str, Path]]:
        """The lab's plans, then each collection of suites: files by name."""
        found: dict[str, dict[str, Path]] = {}
        for name, path in self._of_lab():
            found.setdefault(LAB, {})[name] = path
        try:
            suites = suite_files()
        except SuiteError as error:
            raise DeskError(str(error)) from error
        for name, (collection, path) in suites.items():
            found.setdefault(collection.name, {})[name] = path
        return {group: dict(sorted(plans.items())) for group, plans in found.items()}

    def _of_lab(self) -> Iterator[tuple[str, Path]]:
        for folder in plan_folders(self.lab_file):
            for count, file in enumerate(sorted(folder.rglob(f"*{SUFFIX}"))):
                if count >= MOST_FILES:
                    return
                yield f"lab/{file.relative_to(folder).with_suffix('')}", file

    def path(self, name: str) -> Path:
        """The file of a plan. Raises Missing."""
        known = {
            n: path for plans in self.groups().values() for n, path in plans.items()
        }
        if name not in known:
            raise Missing(f"there is no plan {name!r}{did_you_mean(name, known)}")
        return known[name]

    def text(self, name: str) -> str:
        """A plan as it is. Raises Missing."""
        return read_text(self.path(name))

    def keep(self, text: str) -> Path:
        """A file of a text; the same text is the same file."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        file = self.folder / f"plan-{digest}{SUFFIX}"
        if not file.exists() or file.read_text("utf-8") != text:
            try:
                with output_file(file, force=True) as out:
                    out.write(text.encode())
            except OutputError as error:
                raise DeskError(str(error)) from error
        return file


ASSUMED = "1TB"
"""The capacity of a drive that is not here to be looked at."""
MOST_STEPS = 30
MOST_PLANNED = 6
"""Targets that a plan is reckoned for; the others are told as one."""
ENDING_S = 120.0


class PlanDiagnostic(Struct, frozen=True):
    """A finding of the language, at its line, counted from 1."""

    severity: str
    line: int
    column: int
    message: str
    help: str
    file: str


class Cost(Struct, frozen=True):
    """What a plan takes, between bounds; `assumed` where the target is not here to be
    looked at."""

    target: str
    time: str
    written: str
    drive_writes: str
    capacity_bytes: int
    assumed: bool


class Planned(Struct, frozen=True):
    """What would be done: the costs, and the first steps."""

    title: str
    costs: tuple[Cost, ...]
    steps: tuple[dict[str, Any], ...]
    count: int


class Starter:
    """Methods that call are coroutines; the others read files."""

    def __init__(
        self,
        folder: Path,
        lab_file: Path | None,
        calls: Calls,
        capacities: Callable[[Lab], Mapping[str, int]],
    ) -> None:
        """`capacities` has the bytes of drives that are not here, as far as known."""
        self.capacities = capacities
        self.library = PlanLibrary(folder, lab_file)
        self.lab_file, self.calls = lab_file, calls
        self.consents = folder / "consents"

    @property
    def lab(self) -> Lab:
        """The lab as its file is now. Raises LabError."""
        return read_lab(self.lab_file)

    def file(self, asked: StartForm) -> Path:
        """The plan's; a text has the precedence. Raises DeskError."""
        if asked.text:
            return self.library.keep(asked.text)
        if not asked.plan:
            raise DeskError("choose a plan, or give its text")
        return self.library.path(asked.plan)

    # ---- consents

    def lists(self) -> dict[str, ConsentList]:
        """The signed lists that hold now, by name; others are left out."""
        found: dict[str, ConsentList] = {}
        lab = self.lab
        for file in sorted(self.consents.glob("*.json")):
            try:
                found[file.stem] = _signed(file, lab)
            except (ExplainedError, OSError):
                continue
        return found

    def consent(self, name: str) -> str:
        """The text of a list; empty for none. Raises Missing."""
        if not name:
            return ""
        known = {file.stem: file for file in self.consents.glob("*.json")}
        if name not in known:
            raise Missing(f"there is no list of consents {name!r} in {self.consents}")
        return _text(known[name])

    # ---- calls

    async def diagnostics(self, file: Path, asked: StartForm) -> list[PlanDiagnostic]:
        """What the language finds. Raises DeskError for what is no matter of a text."""
        words = ["check", str(file), "--format=json", *asked.checking, *self._lab]
        done = await self.calls.call(words)
        try:
            found = json.loads(done.out)
        except ValueError:
            raise DeskError(said(done)) from None
        return [_diagnostics(one) for one in found]

    async def planned(self, file: Path, asked: StartForm) -> Planned:
        """What it costs on each target, and its first steps. Raises DeskError."""
        documents = [
            (target, *await self._plan(file, asked, target))
            for target in asked.targets[:MOST_PLANNED]
        ]
        _, first, _ = documents[0]
        return Planned(
            title=first["plan"],
            costs=tuple(_cost(*one) for one in documents),
            steps=tuple(first["steps"][:MOST_STEPS]),
            count=len(first["steps"]),
        )

    async def _plan(
        self, file: Path, asked: StartForm, target: str
    ) -> tuple[dict[str, Any], bool]:
        """For the target as it is; if that is not here, for its size as it was seen.

        Of a group, for the largest drive.
        """
        words = ["plan", str(file), "--json", *asked.checking, *asked.scaling]
        words += self._lab
        done = await self.calls.call([*words, f"--target={target}"])
        assumed = False
        if done.code != 0:
            known = await asyncio.to_thread(self._capacity, target)
            size = asked.request.create or (f"{known >> 10}KiB" if known else ASSUMED)
            assumed = size == ASSUMED
            done = await self.calls.call([*words, f"--capacity={size}"])
        try:
            return json.loads(done.out), assumed
        except ValueError:
            raise DeskError(said(done)) from None

    def _capacity(self, word: str) -> int:
        """The capacity of the largest known drive; 0 for none. Raises StoreError."""
        lab = self.lab
        known = self.capacities(lab)
        return max((known.get(one, 0) for one in drives_named(lab, [word])), default=0)

    def wanted(self, file: Path, asked: StartForm, person: str) -> list[QueueEntry]:
        """An entry of the queue for each target. Raises what a call would refuse."""
        request, lab = asked.request, self.lab
        plan = self._checked(file, request)
        priority = priority_named(asked.priority or Priority.NORMAL.word)
        consent = self.consent(asked.consent)
        return [
            wanted(plan, lab, [target], person, request, priority, consent=consent)
            for target in asked.targets
        ]

    def _checked(self, file: Path, request: RunRequest) -> CheckedPlan:
        values = dict(one.partition("=")[::2] for one in request.settings)
        folders = partial(plan_folders, self.lab_file)
        try:
            return check_file(
                file, values, request.scale_time, request.profile, folders
            )
        except PlanError as error:
            raise DeskError(str(error)) from error
        except (OSError, ValueError) as error:
            raise DeskError(f"the plan cannot be read: {error}") from error

    async def cancel(self, job: str, person: str) -> None:
        """End the I/O of a job, as a person wants it. Raises DeskError."""
        words = ["cancel", job, f"--person={person}"]
        done = await self.calls.call(words, limit_s=ENDING_S)
        if done.code:
            raise DeskError(said(done))

    @property
    def _lab(self) -> list[str]:
        return [f"--lab={self.lab_file}"] if self.lab_file else []


def _signed(file: Path, lab: Lab) -> ConsentList:
    return signed_list(_text(file), lab, None)


def _text(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(MAX_BYTES).decode("utf-8", "replace")


def _diagnostics(one: dict[str, Any]) -> PlanDiagnostic:
    return PlanDiagnostic(
        **{name: one[name] for name in PlanDiagnostic.__struct_fields__}
    )


def _cost(target: str, document: dict[str, Any], assumed: bool) -> Cost:
    total = document["total"]
    ends = total.get("assumed", total)

    def text(name: str, words: Callable[[float], str]) -> str:
        most = ends["at_most"][name]
        return between(ends["at_least"][name], inf if most is None else most, words)

    return Cost(
        target=target,
        time=text("run_s", time_text),
        written=text("written_bytes", bytes_text),
        drive_writes=text("drive_writes", "{:.3g}".format),
        capacity_bytes=total["capacity_bytes"],
        assumed=assumed,
    )
