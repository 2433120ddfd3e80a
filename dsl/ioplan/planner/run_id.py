"""Digests that say what a step does, and nothing else.

Defaults are left out, so that a new field does not change old ids. Names of tests,
workloads and preconditions, line numbers and the order in the file never enter;
the name of a stream does, as it distinguishes results.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from msgspec.structs import asdict

from ioplan.language.plan import PrepareStep, PurgeStep, RestStep, SteadyRule
from ioplan.workload import SizeShare, Stream, Workload

DIGEST_BYTES = 6


def digest(*parts: object) -> str:
    """A short digest of parts that print the same everywhere.

    BLAKE2 (RFC 7693): a third of the time of SHA-256 for texts as short as these.
    """
    text = "\x1f".join(map(str, parts))
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def set_fields(**fields: object) -> list[str]:
    """The fields that are set, each with its name."""
    return [f"{name}={value}" for name, value in fields.items() if value]


PHASE_NAMES: Any = {"streams": {"__all__": {"rate": {"phases": {"__all__": {"name"}}}}}}


def canonical(workload: Workload) -> str:
    """A workload as text: equal texts, equal workloads. What a phase is called changes
    nothing of the I/O."""
    if any(len(s.read_sizes) > 1 or len(s.write_sizes) > 1 for s in workload.streams):
        streams = tuple(map(_ordered, workload.streams))
        workload = Workload.model_construct(streams=streams)
    named = any(s.rate and any(p.name for p in s.rate.phases) for s in workload.streams)
    exclude = PHASE_NAMES if named else None
    return workload.model_dump_json(exclude_defaults=True, exclude=exclude)


def _ordered(stream: Stream) -> Stream:
    """Sizes have no order."""
    sizes = {name: getattr(stream, name) for name in ("read_sizes", "write_sizes")}
    ordered = {name: tuple(sorted(one, key=_by_size)) for name, one in sizes.items()}
    return stream.model_copy(update=ordered)


def _by_size(share: SizeShare) -> tuple[int, float]:
    return share.size_bytes, share.percent


def rule_text(rule: SteadyRule) -> str:
    """When a series counts as steady."""
    return ",".join(set_fields(**asdict(rule)))


def prepare_digest(step: PrepareStep) -> str:
    """What one step of a precondition does."""
    if isinstance(step, PurgeStep):
        return digest("purge")
    if isinstance(step, RestStep):
        return digest("idle", step.pause_ns)
    fields = set_fields(
        passes=step.passes,
        run_ns=step.run_ns,
        every_ns=step.every_ns,
        every_percent=step.every_percent,
        rule=rule_text(step.rule) if step.rule else "",
        finds_spare=step.finds_spare,
    )
    return digest("write", canonical(step.workload), *fields)
