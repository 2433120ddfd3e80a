"""A lab as one of its hosts sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioplan.lab.entry import LabTarget
from ioplan.lab.hosts import LabHost

if TYPE_CHECKING:
    from ioplan.lab.lab import Lab


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
