"""Digests that say what a step does, and nothing else.

Defaults are left out, so that a new field does not change old ids; names, line
numbers and the order in the file never enter.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from ioplan.language.plan import PrepareStep, PurgeStep, RestStep
from ioplan.workload import STREAM_DEFAULTS, Stream, Workload

LENGTH = 12
FIELDS = tuple(sorted(Stream.model_fields))
REQUIRED = object()
"""Equal to no value: a field without a default is always written out."""
SIMPLE = (int, float, str, bool)
DEFAULTS = tuple(STREAM_DEFAULTS.get(name, REQUIRED) for name in FIELDS)


def digest(*parts: object) -> str:
    """A short digest of parts that print the same everywhere."""
    text = "\x1f".join(str(part) for part in parts)
    return sha256(text.encode()).hexdigest()[:LENGTH]


def canonical(workload: Workload) -> str:
    """A workload as text: equal texts, equal workloads."""
    return "|".join(_stream(stream) for stream in workload.streams)


def _stream(stream: Stream) -> str:
    values = stream.__dict__
    return ";".join(
        [
            f"{name}={_value(values[name])}"
            for name, default in zip(FIELDS, DEFAULTS, strict=True)
            if values[name] is not default and values[name] != default
        ]
    )


def _value(value: Any) -> object:
    kind = type(value)
    if kind in SIMPLE:
        return value
    return _complex(value)


@lru_cache(maxsize=4096)
def _complex(value: BaseModel | tuple[BaseModel, ...]) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(item.model_dump_json() for item in value) + "]"
    return value.model_dump_json()


def prepare_digest(step: PrepareStep) -> str:
    """What one step of a precondition does."""
    if isinstance(step, PurgeStep):
        return digest("purge")
    if isinstance(step, RestStep):
        return digest("idle", step.pause_ns)
    return digest(
        "write",
        canonical(step.workload),
        step.passes,
        step.run_ns,
        step.every_ns,
        step.rule.model_dump_json() if step.rule else "",
    )
