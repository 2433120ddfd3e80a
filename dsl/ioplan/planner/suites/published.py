"""Which runs a published version stands for: an index from run ids to versions.

A run's id says what it does. So two results under one name mean the same where the
index has both ids under that name, and it tells which versions they are of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from ioplan.language.checker.check import check_file
from ioplan.language.plan import FULL
from ioplan.language.search.packages import SuiteError
from ioplan.planner.estimate import with_repetitions
from ioplan.planner.steps import Run
from ioplan.planner.suites.suite import Collection, Suite, suites_of
from ioplan.planner.unfolding import unfold

FILE = "index.json"
FORMAT = "ioplan suite index 1"
MOST_BYTES = 64 << 20
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!-]{0,63}")


class Place(NamedTuple):
    """Where a run stands: what people call it."""

    plan: str
    profile: str
    test: str
    run: str

    def __str__(self) -> str:
        return f"{self.plan} ({self.profile}), {self.test}: {self.run}"


class Entry(NamedTuple):
    """A run under a name: its id, the first version that has it, and the last.

    `until` is empty where the index's own version has it still.
    """

    id: str
    since: str
    until: str
    place: Place

    @property
    def versions(self) -> str:
        """For people."""
        return f"{self.since} to {self.until}" if self.until else f"{self.since} on"


class Index(Struct, frozen=True):
    """What was published of a suite, up to a version."""

    suite: str
    version: str
    entries: tuple[Entry, ...]

    @property
    def present(self) -> dict[tuple[Place, str], Entry]:
        """What the version itself has."""
        return {(one.place, one.id): one for one in self.entries if not one.until}


def runs_of(collection: Collection) -> list[tuple[Place, str]]:
    """Every run of its plans in all profiles, once. Raises PlanError."""
    found = (
        (Place(suite.name, profile, *run[:2]), run[2])
        for suite in suites_of(collection)
        if suite.is_plan
        for profile in (FULL, *suite.profiles)
        for run in _runs(suite, profile)
    )
    return list(dict.fromkeys(found))


def _runs(suite: Suite, profile: str) -> Iterator[tuple[str, str, str]]:
    plan = check_file(suite.path, profile=profile)
    for step, _ in with_repetitions(unfold(plan)):
        if isinstance(step, Run):
            yield step.test.title, str(step), step.run_id


def faults(index: Index, collection: Collection) -> Iterator[str]:
    """What is not as it was published under this version; nothing where all is.

    Raises PlanError.
    """
    if index.suite != collection.name:
        yield f"the index is of {index.suite}, not of {collection.name}"
        return
    if index.version != collection.version:
        yield (
            f"the index is of version {index.version}, not {collection.version}: "
            f"publish it, or name the index of that version"
        )
        return
    now, then = runs_of(collection), index.present
    published = {place: id for place, id in then}
    for place, id in now:
        if (place, id) not in then:
            was = f", published is {published[place]}" if place in published else ""
            yield f"{place}: its id is {id}{was or ', which is not published'}"
    for place, id in then.keys() - now:
        if place not in {one for one, _ in now}:
            yield f"{place}: published as {id}, and missing now"


def next_index(before: Index | None, collection: Collection) -> Index:
    """The index with this version's runs. Raises SuiteError, PlanError.

    A version that was published stands for the same runs for ever.
    """
    now = runs_of(collection)
    known = before.present if before else {}
    if before and before.version == collection.version and known.keys() != set(now):
        raise SuiteError(
            f"{collection.name} {collection.version} was published with other runs; "
            f"raise the version in pyproject.toml, then publish"
        )
    closed = [
        one if one.until or (one.place, one.id) in now else _closed(one, before)
        for one in (before.entries if before else ())
    ]
    fresh = [
        Entry(id, collection.version, "", place)
        for place, id in now
        if (place, id) not in known
    ]
    return Index(collection.name, collection.version, (*closed, *fresh))


def _closed(one: Entry, before: Index | None) -> Entry:
    assert before
    return one._replace(until=before.version)


def known_as(index: Index, ids: Iterable[str]) -> dict[str, Entry | None]:
    """What each id is published as, the newest first; None where it is not."""
    by_id = {
        one.id: one for one in sorted(index.entries, key=lambda one: not one.until)
    }
    return {id: by_id.get(id) for id in ids}


def index_text(index: Index) -> str:
    """The index as it is kept: JSON, a row a run, so that versions have small diffs."""
    rows = [json.dumps([*one[:3], *one.place]) for one in index.entries]
    head = {"format": FORMAT, "suite": index.suite, "version": index.version}
    head_text = json.dumps(head)[:-1]
    return f'{head_text}, "runs": [\n' + ",\n".join(rows) + "\n]}\n"


def index_of(text: str) -> Index:
    """What `index_text` has written. Raises SuiteError."""
    try:
        raw = json.loads(text)
        if raw["format"] != FORMAT:
            raise ValueError(f"its format is {raw['format']!r}")
        entries = tuple(map(_entry, raw["runs"]))
        return Index(_version(raw["suite"]), _version(raw["version"]), entries)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SuiteError(f"it is not an index of a suite: {error}") from error


def _entry(row: Any) -> Entry:
    id, since, until, *place = map(_text, row)
    if not re.fullmatch(r"[0-9a-f]{12}", id):
        raise ValueError(f"{id[:20]!r} is not a run id")
    return Entry(id, _version(since), until and _version(until), Place(*place))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _version(value: Any) -> str:
    if not VERSION.fullmatch(_text(value)):
        raise ValueError(f"{value!r} is not a version")
    return str(value)
