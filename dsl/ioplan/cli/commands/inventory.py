"""`ioplan backends`, `targets` and `schema`: what there is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from secrets import randbits

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.backends.backend import Availability, BackendError, TargetRequest, names
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.targets.choose import Choice, named_backend
from ioplan.core.units import bytes_text
from ioplan.records.record import record_schema
from ioplan.runner.content.target_map import TargetMap, map_of
from ioplan.runner.devices.mounts import unseen_namespaces
from ioplan.runner.guard.errors import in_use_of
from ioplan.runner.guard.resolve import resolve_target
from ioplan.runner.guard.survey import Surveyed, survey
from ioplan.runner.guard.target import open_target
from ioplan.runner.host.reported import reported
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.prepare.fit import FEATURES, Support, feature_support

SEED_BITS = 32

ANSWERS = {
    "exactly": Text("exact", style="green"),
    "nearly": Text("approximate", style="yellow"),
    "no": Text("no", style="red"),
}


def print_backends(
    lab: Path | None, backend: str | None = None, options: list[str] | None = None
) -> None:
    """What can do the I/O here, and what each can express.

    With options, those backends that take them: of the version, the driver or the
    engine that they name. Raises BackendError, UsageError if none does.
    """
    known = read_lab(lab)
    found = _backends([backend] if backend else names(), known, options or [])
    console = Terminal()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("backend", "version", "usable", "remarks"):
        table.add_column(heading, overflow="fold")
    for name, one in found.items():
        here = _availability(one)
        usable = "yes" if here.usable else "no"
        table.add_row(name, here.version, usable, Text(here.reason))
    console.print(table)
    console.print(_matrix(found))


def _backends(
    wanted: list[str], lab: Lab, options: list[str]
) -> dict[str, Choice | BackendError]:
    """Each with its options; where some are given, only those that take them."""
    found: dict[str, Choice | BackendError] = {}
    for name in wanted:
        try:
            found[name] = named_backend(name, lab, options)
            if options:
                _support(found[name], next(iter(FEATURES)))
        except BackendError as error:
            found[name] = error
    if not options:
        return found
    taking = {name: one for name, one in found.items() if isinstance(one, Choice)}
    if not taking:
        texts = [str(one) for one in found.values()]
        raise UsageError("no backend takes these options:\n  " + "\n  ".join(texts))
    return {**taking}


def _availability(one: Choice | BackendError) -> Availability:
    if isinstance(one, BackendError):
        return Availability(usable=False, reason=str(one))
    try:
        return one.backend.availability(one.options)
    except BackendError as error:
        return Availability(usable=False, reason=str(error))


def _matrix(found: dict[str, Choice | BackendError]) -> Table:
    loaded = {name: one for name, one in found.items() if isinstance(one, Choice)}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("supports")
    for name in loaded:
        table.add_column(name)
    for feature in FEATURES:
        answers = (_support(one, feature) for one in loaded.values())
        table.add_row(feature, *(ANSWERS[one] for one in answers))
    return table


def _support(one: Choice | BackendError, feature: str) -> Support:
    """Raises BackendError for options that the backend does not have."""
    if isinstance(one, BackendError):
        raise one
    return feature_support(one.backend, one.options, feature)


VERDICT_STYLES = {"writable": "green", "readable": "yellow", "refused": "red"}


def print_targets(lab: Path | None, json: bool, map: str | None = None) -> None:
    """The block devices here, or a map of one target; as text or as one document.

    Raises TargetError.
    """
    if map is not None:
        _print_map(_map(map, read_lab(lab)), json)
        return
    if json:
        _print_json([one.model_dump(mode="json") for one in reported(read_lab(lab))])
    else:
        print_target_rows(Terminal(), list(survey(read_lab(lab))))


def _map(word: str, lab: Lab) -> TargetMap:
    path, entry = resolve_target(word, lab)
    target = open_target(TargetRequest(path=path, entry=entry))
    try:
        with in_use_of(path):
            return map_of(target.fd, target.facts.capacity_bytes, randbits(SEED_BITS))
    finally:
        target.close()


def _print_map(found: TargetMap, json: bool) -> None:
    if json:
        _print_json(found.model_dump(mode="json"))
    else:
        Terminal().print(Text(str(found)))


def _print_json(document: object) -> None:
    sys.stdout.write(f"{json.dumps(document, indent=2)}\n")


def print_target_rows(console: Console, found: list[Surveyed]) -> None:
    """A row for each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("target", "ID", "model"):
        table.add_column(heading, overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("on it", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for one in found:
        table.add_row(*_cells(one))
    console.print(table)
    if unseen_namespaces():
        console.print(
            "This user cannot see all mounts and programs; targets in use are still "
            "refused when they are opened.",
            style="dim",
        )


def _cells(one: Surveyed) -> tuple[Text, ...]:
    identity = one.identity
    names = [one.name, one.path.removeprefix("/dev/")]
    reason = f": {one.reason}" if one.reason else ""
    return (
        Text("\n".join(filter(None, names))),
        Text(one.id),
        Text(identity.model if identity else ""),
        Text(bytes_text(one.size_bytes) if one.size_bytes else ""),
        Text(", ".join(one.holds)),
        Text(one.verdict + reason, style=VERDICT_STYLES[one.verdict]),
    )


def print_schema() -> None:
    """The JSON Schema of a run's record."""
    _print_json(record_schema())
