"""References between the parts of a lab: groups, targets and hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ioplan.core.text import did_you_mean
from ioplan.runner.lab.lab import Lab
from ioplan.target_entry import NAMING, LabTarget

Fault = tuple[tuple[str, ...], str]
"""The key that is wrong, and why."""


def members(lab: Lab, group: str) -> list[str]:
    """The targets of a group, each once, in the group's order."""
    found = (name for word in lab.groups[group] for name in _matching(lab, word))
    return list(dict.fromkeys(found))


def expanded(lab: Lab, words: Sequence[str]) -> list[str]:
    """What the words after `--target` stand for: groups by their targets, each once."""
    found = (members(lab, word) if word in lab.groups else [word] for word in words)
    return list(dict.fromkeys(name for names in found for name in names))


def _matching(lab: Lab, word: str) -> list[str]:
    """The target of that name, else all that match a pattern such as `gen5-*`."""
    if word in lab.targets:
        return [word]
    return [name for name in lab.targets if fnmatchcase(name, word)]


def is_fleet(lab: Lab, words: Sequence[str]) -> bool:
    """Whether `--target` names several, a group, or a target on another host."""
    entries = [lab.targets.get(word) for word in words]
    away = any(entry and entry.host for entry in entries)
    return len(words) > 1 or any(word in lab.groups for word in words) or away


def is_shared(lab: Lab, word: str | None) -> bool:
    """Whether the word after `--target` is a target that several hosts share."""
    entry = lab.targets.get(word or "")
    return bool(entry and entry.hosts)


def reference_faults(lab: Lab) -> Iterator[Fault]:
    """Names of nothing, and groups that have a drive twice."""
    for name, entry in lab.targets.items():
        if entry.host is not None and entry.host not in lab.hosts:
            near = did_you_mean(entry.host, lab.hosts)
            yield ("targets", name, "host"), _unknown("host", entry.host, near)
        for host in entry.hosts:
            if host not in lab.hosts:
                near = did_you_mean(host, lab.hosts)
                yield ("targets", name, "hosts"), _unknown("host", host, near)
    for name, event in lab.events.items():
        if event.host is not None and event.host not in lab.hosts:
            near = did_you_mean(event.host, lab.hosts)
            yield ("events", name, "host"), _unknown("host", event.host, near)
    for name, words in lab.groups.items():
        yield from _group_faults(lab, name, words)


def _group_faults(lab: Lab, name: str, words: tuple[str, ...]) -> Iterator[Fault]:
    place = ("groups", name)
    if name in lab.targets:
        yield place, "a target has this name too; give the group another one"
    if not words:
        yield place, "it has no target; name some, or leave the group out"
    for word in words:
        if not _matching(lab, word):
            yield place, _unknown("target", word, did_you_mean(word, lab.targets))
    of_group = {one: lab.targets[one] for one in members(lab, name)}
    for one, key, other in same_targets(of_group):
        yield ("targets", one, key), f"the target {other!r} is the same one"


def same_targets(
    entries: Mapping[str, LabTarget],
) -> Iterator[tuple[str, str, str]]:
    """Two names of one drive, which would have two lanes, and one of them would fail:
    the second, the key that says so, the first."""
    seen: dict[tuple[object, ...], str] = {}
    for name, entry in entries.items():
        part = (entry.host, entry.nsid, entry.partition)
        for key in NAMING:
            value = getattr(entry, key)
            other = seen.setdefault((key, value, *part), name) if value else name
            if other != name:
                yield name, key, other


def _unknown(what: str, name: str, near: str) -> str:
    return f"the lab has no {what} {name!r}{near}"


def called(words: Iterable[str], named: Container[str] = ()) -> dict[str, str]:
    """Targets by what a plan calls them: those that a lab has `named` by that, a file
    by its name, or by its path where several have that name."""
    words = list(dict.fromkeys(words))
    files = Counter(Path(word).name for word in words)

    def name(word: str) -> str:
        is_one = word not in named and files[Path(word).name] == 1
        return Path(word).name if is_one else word

    return {name(word): word for word in words}
