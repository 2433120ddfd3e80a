"""Which files of this host's kernel the lab's settings are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from ioplan.runner.host.sysfs import CPU, HostError, canonical
from ioplan.runner.lab.hosts import HostSettings
from ioplan.runner.telemetry.disk import Disk
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.topology import interrupts


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
