"""What the parts of a lab file say of each other."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from ioplan.core.text import did_you_mean
from ioplan.lab.hosts import LabHost
from ioplan.lab.lab import Lab
from ioplan.target_entry import NAMING, LabTarget

Fault = tuple[tuple[str, ...], str]
"""The key that is wrong, and why."""


def members(lab: Lab, group: str) -> list[str]:
    """The targets of a group, each once, in the order of the lab's words."""
    found = (name for word in lab.groups[group] for name in _meant(lab, word))
    return list(dict.fromkeys(found))


def _meant(lab: Lab, word: str) -> list[str]:
    """The target of that name, else all that a pattern such as `gen5-*` fits."""
    if word in lab.targets:
        return [word]
    return [name for name in lab.targets if fnmatchcase(name, word)]


def link_faults(lab: Lab) -> Iterator[Fault]:
    """Names that lead nowhere, and groups that have a drive twice."""
    for name, entry in lab.targets.items():
        if entry.host is not None and entry.host not in lab.hosts:
            near = did_you_mean(entry.host, lab.hosts)
            yield ("targets", name, "host"), _unknown("host", entry.host, near)
        for host in entry.hosts:
            if host not in lab.hosts:
                near = did_you_mean(host, lab.hosts)
                yield ("targets", name, "hosts"), _unknown("host", host, near)
    for name, words in lab.groups.items():
        yield from _group_faults(lab, name, words)


def _group_faults(lab: Lab, name: str, words: tuple[str, ...]) -> Iterator[Fault]:
    place = ("groups", name)
    if name in lab.targets:
        yield place, "a target has this name too; give the group another one"
    if not words:
        yield place, "it has no target; name some, or leave the group out"
    for word in words:
        if not _meant(lab, word):
            yield place, _unknown("target", word, did_you_mean(word, lab.targets))
    yield from _twins(lab, name)


def _twins(lab: Lab, group: str) -> Iterator[Fault]:
    """A drive under two names would have two lanes, of which one must fail."""
    seen: dict[tuple[object, ...], str] = {}
    for name in members(lab, group):
        entry = lab.targets[name]
        narrowed = (entry.host, entry.nsid, entry.partition)
        for key in NAMING:
            said = getattr(entry, key)
            other = seen.setdefault((key, said, *narrowed), name) if said else name
            if other != name:
                yield ("targets", name, key), f"the target {other!r} is the same one"


def _unknown(what: str, name: str, near: str) -> str:
    return f"the lab has no {what} {name!r}{near}"


def seen_from(lab: Lab, host: str) -> Lab:
    """Its own targets, backend, options and meter; no other host, and no group."""
    entry = lab.hosts[host]
    change = {
        "backend": entry.backend or lab.backend,
        "backends": _options(lab, entry),
        "power": entry.power or lab.power,
        "targets": _targets(lab, host),
        "hosts": {},
        "groups": {},
        "scheduler": None,
    }
    return lab.model_copy(update=change)


def _options(lab: Lab, entry: LabHost) -> dict[str, dict[str, object]]:
    """The host's word on an option counts."""
    names = dict.fromkeys((*lab.backends, *entry.backends))
    return {
        name: {**lab.backends.get(name, {}), **entry.backends.get(name, {})}
        for name in names
    }


def _targets(lab: Lab, host: str) -> dict[str, LabTarget]:
    return {
        name: target.model_copy(update={"host": None, "hosts": ()})
        for name, target in lab.targets.items()
        if target.host == host or host in target.hosts
    }
