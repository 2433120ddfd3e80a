"""A host as the lab wants it for the time of a session, and as it was after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.core.error_kinds import HostFault
from ioplan.runner.host import ledger as putting
from ioplan.runner.host.ledger import (
    CPU,
    SCHEDULER,
    Holder,
    HostError,
    Kept,
    LedgerFile,
    canonical,
    current,
    has_ledger,
    opened_ledger,
    this_process,
    write,
)
from ioplan.runner.lab.lab import HostSettings
from ioplan.runner.telemetry.disk import Disk
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.topology import interrupts

# Which files of this host's kernel the lab's settings are.


class Wanted(Struct, frozen=True):
    """A file below `/` and what it is to be; `key` is the lab's, `part` a state's."""

    key: str
    name: str
    text: str
    part: str = ""


class NotSet(Struct, frozen=True):
    """A setting that means nothing for this target."""

    key: str
    why: str


Found = Iterator[Wanted | NotSet]


def wanted_settings(
    settings: HostSettings, disk: Disk | None, tree: Tree
) -> list[Wanted | NotSet]:
    """Each file, in the order in which they are set.

    Raises HostError for what this host does not have.
    """
    return [*_of_cpus(settings, tree), *_of_drive(settings, disk, tree)]


def _of_cpus(settings: HostSettings, tree: Tree) -> Found:
    if settings.governor is not None:
        policies = tree.all(f"{CPU}/cpufreq/policy[0-9]*/scaling_governor")
        yield from _each("governor", _known("governor", policies), settings.governor)
    if settings.turbo is not None:
        yield _turbo(settings.turbo, tree)
    if settings.idle_latency_us is not None:
        yield from _idle_states(settings.idle_latency_us, tree)


def _each(key: str, names: list[str], text: str) -> Iterator[Wanted]:
    return (Wanted(key, name, canonical(name, text)) for name in names)


def _known(key: str, files: list[Path]) -> list[str]:
    if not files:
        raise _missing(key, "there is no cpufreq, as in most virtual machines")
    return [_name(file) for file in files]


def _name(file: Path) -> str:
    """From `sys` or `proc` on, whatever is above it in a made-up tree."""
    parts = file.parts
    begin = next(n for n, part in enumerate(parts) if part in ("sys", "proc"))
    return "/".join(parts[begin:])


def _missing(key: str, why: str) -> HostError:
    return HostError(
        f"prepare.{key}: this host cannot set it: {why}; remove it from the lab file, "
        "or set it only for other hosts, in [hosts.NAME.prepare]"
    )


def _turbo(on: bool, tree: Tree) -> Wanted:
    for name, when_on in (
        (f"{CPU}/intel_pstate/no_turbo", "0"),
        (f"{CPU}/cpufreq/boost", "1"),
    ):
        if tree.path(name).exists():
            return Wanted("turbo", name, when_on if on else str(1 - int(when_on)))
    raise _missing("turbo", "the CPU driver has no switch for it")


def _idle_states(at_most_us: int, tree: Tree) -> Found:
    """Off with those that take longer to leave; the others stay as they are."""
    states = tree.all(f"{CPU}/cpu[0-9]*/cpuidle/state[0-9]*")
    if not states:
        raise _missing("idle_latency_us", "the kernel has no cpuidle here")
    slow = [one for one in states if (tree.number(one / "latency") or 0) > at_most_us]
    if not slow:
        yield NotSet("idle_latency_us", "no idle state has a longer exit latency")
    for state in slow:
        name = _name(state / "disable")
        yield Wanted("idle_latency_us", name, "1", tree.text(state / "name"))


def _of_drive(settings: HostSettings, disk: Disk | None, tree: Tree) -> Found:
    asked: dict[str, Callable[[Disk], Found]] = {}
    if settings.scheduler is not None:
        asked["scheduler"] = lambda at: _queue(
            at, "scheduler", settings.scheduler, tree
        )
    if settings.nomerges is not None:
        asked["nomerges"] = lambda at: _queue(at, "nomerges", settings.nomerges, tree)
    if settings.irq_affinity is not None:
        asked["irq_affinity"] = lambda at: _irqs(at, settings.irq_affinity or "", tree)
    for key, found in asked.items():
        if disk is None or not disk.is_target:
            yield NotSet(key, "the target is not a block device of the kernel")
        else:
            yield from found(disk)


def _queue(disk: Disk, key: str, value: str | int | None, tree: Tree) -> Found:
    name = f"sys/block/{disk.whole.name}/queue/{key}"
    if not tree.path(name).exists():
        raise _missing(key, f"{disk.whole.name} has no /{name}")
    yield Wanted(key, name, str(value))


def _irqs(disk: Disk, cpus: str, tree: Tree) -> Found:
    numbers = interrupts(disk.whole)
    if not numbers:
        raise _missing("irq_affinity", f"{disk.whole.name} has no separate interrupts")
    names = [f"proc/irq/{number}/smp_affinity_list" for number in numbers]
    yield from _each("irq_affinity", names, cpus)


OnNote = Callable[[str], None]
"""Called with a sentence for the user."""
FORGOTTEN = ("nr_requests", "wbt_lat_usec", "iosched/*")
"""What of a queue the kernel resets when its scheduler is changed."""
Prepared = dict[str, Any]
"""By the lab's key: `before` and `set`, or why it is `not_set`."""


@contextmanager
def prepared_host(
    session: str,
    settings: HostSettings | None,
    disk: Disk | None,
    on_note: OnNote,
    tree: Tree | None = None,
) -> Iterator[Prepared]:
    """What was there and what is set, while the block runs; then as it was before.

    Puts back what sessions that were killed have left, too. Raises HostError before
    the block; then nothing is changed.
    """
    tree, holder = tree or Tree(), this_process(session)
    found = wanted_settings(settings, disk, tree) if settings else []
    wanted = [one for one in found if isinstance(one, Wanted)]
    if not wanted and not has_ledger():
        yield _record(found, {})
        return
    try:
        yield _record(found, _take(holder, wanted, tree, on_note))
    finally:
        if wanted:
            _release(holder, tree, on_note)


def restore(on_note: OnNote, tree: Tree | None = None) -> None:
    """Put back what sessions that were killed have left. Raises HostError."""
    if has_ledger():
        _release(None, tree or Tree(), on_note)


def _release(holder: Holder | None, tree: Tree, on_note: OnNote) -> None:
    with opened_ledger() as ledger:
        putting.put_back(ledger, tree, on_note, gone=holder)


def _take(
    holder: Holder, wanted: list[Wanted], tree: Tree, on_note: OnNote
) -> dict[str, Kept]:
    with opened_ledger() as ledger:
        putting.put_back(ledger, tree, on_note, but={one.name for one in wanted})
        try:
            _check(ledger, wanted, tree)
            _enter(ledger, holder, wanted, tree)
            _set(wanted, tree)
        except BaseException:
            putting.put_back(ledger, tree, on_note, gone=holder)
            raise
        return {one.name: ledger.settings[one.name] for one in wanted}


def _check(ledger: LedgerFile, wanted: Iterable[Wanted], tree: Tree) -> None:
    """Nothing is set unless all of it can be."""
    for one in wanted:
        kept = ledger.settings.get(one.name)
        if kept and kept.set != one.text and (others := kept.left_by(None)):
            raise HostError(
                f"prepare.{one.key}: session {others[0].session} has set /{one.name} "
                f"to {kept.set}, and this session requires {one.text}; wait until it "
                "ends",
                HostFault.HOST_CONFLICT,
            )
        if current(tree, one.name) != one.text:
            _check_permission(one, tree)


def _check_permission(one: Wanted, tree: Tree) -> None:
    if not os.access(tree.path(one.name), os.W_OK):
        raise HostError(
            f"prepare.{one.key}: this user may not write /{one.name}: run ioplan as "
            "root, or remove [prepare] from the lab file",
            HostFault.HOST_PERMISSION,
        )


def _enter(
    ledger: LedgerFile, holder: Holder, wanted: Iterable[Wanted], tree: Tree
) -> None:
    """Write down what is there, before anything is changed."""
    for one in wanted:
        now, known = current(tree, one.name), ledger.settings.get(one.name)
        if now is None:
            raise HostError(f"prepare.{one.key}: /{one.name} is gone")
        if known and now == known.set:
            before, lost = known.before, known.lost
        else:  # nobody has set it, or somebody else has changed it since
            before, lost = now, _forgotten(one.name, tree)
        holders = (*(known.left_by(None) if known else ()), holder)
        ledger.settings[one.name] = Kept(
            before=before, set=one.text, lost=lost, holders=holders
        )
    ledger.save()


def _forgotten(name: str, tree: Tree) -> dict[str, str]:
    if not name.endswith(SCHEDULER):
        return {}
    queue = name.removesuffix(SCHEDULER)
    files = (file for part in FORGOTTEN for file in tree.all(f"{queue}/{part}"))
    names = [f"{queue}/{file.relative_to(tree.path(queue))}" for file in files]
    return {one: tree.text(one) for one in names}


def _set(wanted: Iterable[Wanted], tree: Tree) -> None:
    for one in wanted:
        if current(tree, one.name) == one.text:
            continue
        try:
            write(tree, one.name, one.text)
        except OSError as error:
            raise _refused(one, error.strerror or str(error), tree) from error
        if (now := current(tree, one.name)) != one.text:
            raise _refused(one, f"it is {now} then", tree)


def _refused(one: Wanted, why: str, tree: Tree) -> HostError:
    instead = f"it has: {tree.text(one.name)}"
    if one.key == "irq_affinity":
        instead = "the kernel itself binds the queues of most NVMe drives to CPUs"
    if one.key == "governor":
        known = one.name.replace("scaling_governor", "scaling_available_governors")
        instead = f"it has: {tree.text(known)}"
    return HostError(
        f"prepare.{one.key}: the kernel refuses {one.text!r} for /{one.name}: {why}; "
        f"{instead}; correct the lab file, or remove it"
    )


def _record(found: Iterable[Wanted | NotSet], kept: dict[str, Kept]) -> Prepared:
    """By key, as all files of a key mostly say the same."""
    record: Prepared = {}
    for one in found:
        if isinstance(one, NotSet):
            record[one.key] = {"not_set": one.why}
            continue
        entry = record.setdefault(one.key, {"before": [], "set": [], "of": []})
        entry["before"].append(kept[one.name].before)
        entry["set"].append(one.text)
        entry["of"].append(one.part)
    return {key: _distinct(entry) for key, entry in record.items()}


def _distinct(entry: dict[str, Any]) -> dict[str, str]:
    if "not_set" in entry:
        return entry
    texts = {part: dict.fromkeys(filter(None, all)) for part, all in entry.items()}
    return {part: ", ".join(found) for part, found in texts.items() if found}
