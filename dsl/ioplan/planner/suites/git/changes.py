"""What another version of a suite would change: files, and the runs of each name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ioplan.language.errors.diagnostic import PlanError
from ioplan.planner.suites.published import Place, runs_of
from ioplan.planner.suites.suite import Collection

Runs = dict[Place, str]


class Changes(Struct, frozen=True):
    """Files and runs by what becomes of them; `errors` are of plans that are wrong."""

    files: tuple[tuple[str, str], ...]
    other: tuple[tuple[Place, str, str], ...]
    added: tuple[Place, ...]
    gone: tuple[Place, ...]
    same: int
    errors: str = ""

    @property
    def any(self) -> bool:
        """Whether the files are others."""
        return bool(self.files)

    def lines(self) -> Iterator[str]:
        """For people, the most important last."""
        yield from (f"  {path}: {what}" for path, what in self.files)
        yield from (
            f"  {place}: id {was} becomes {now}" for place, was, now in self.other
        )
        yield from (f"  {place}: new" for place in self.added)
        yield from (f"  {place}: gone" for place in self.gone)
        if self.errors:
            yield f"  it has errors: {self.errors}"
        yield (
            f"  runs: {self.same} the same, {len(self.other)} with other ids, "
            f"{len(self.added)} new, {len(self.gone)} gone"
        )


def changes(
    before: Mapping[str, str],
    after: Mapping[str, str],
    old: Collection,
    new: Collection,
) -> Changes:
    """From one version to another: `before` and `after` are digests by path.

    The collections have the files in folders, from which the runs are planned.
    """
    was, _ = _runs(old, before)
    now, errors = _runs(new, after)
    both = [place for place in was if place in now]
    return Changes(
        tuple(_files(before, after)),
        tuple((one, was[one], now[one]) for one in both if was[one] != now[one]),
        tuple(place for place in now if place not in was),
        tuple(place for place in was if place not in now),
        sum(was[place] == now[place] for place in both),
        errors,
    )


def _files(
    before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for path in sorted({*before, *after}):
        if path not in before:
            yield path, "new"
        elif path not in after:
            yield path, "gone"
        elif before[path] != after[path]:
            yield path, "changed"


def _runs(collection: Collection, files: Mapping[str, str]) -> tuple[Runs, str]:
    """The runs by name, and the first error of plans that are wrong."""
    if not files:
        return {}, ""
    try:
        found: Runs = {}
        for place, id in runs_of(collection):
            found.setdefault(place, id)
        return found, ""
    except (PlanError, OSError, ValueError) as error:
        return {}, str(error).splitlines()[0]
