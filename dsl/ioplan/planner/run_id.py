"""Digests that say what a step does, and nothing else.

Defaults are left out, so that a new field does not change old ids. Names of tests,
workloads and preconditions, line numbers and the order in the file never enter;
the name of a stream does, as it distinguishes results.
"""

from __future__ import annotations

from hashlib import blake2b

from ioplan.core.lazy_model import LazyModel
from ioplan.core.memo import ByIdentity
from ioplan.core.sparse_json import sparse_json
from ioplan.language.plan import PrepareStep, PurgeStep, RestStep
from ioplan.workload import STREAM_DEFAULTS, Stream, Workload

DIGEST_BYTES = 6
REQUIRED = object()
"""Equal to no value: a field without a default is always written out."""
SIMPLE = frozenset((int, float, str, bool))
DEFAULTS = tuple(
    (name, STREAM_DEFAULTS.get(name, REQUIRED)) for name in sorted(Stream.fields_)
)

IN_ORDER = tuple((name, STREAM_DEFAULTS.get(name, REQUIRED)) for name in Stream.fields_)


def digest(*parts: object) -> str:
    """A short digest of parts that print the same everywhere.

    BLAKE2 (RFC 7693): a third of the time of SHA-256 for texts as short as these.
    """
    text = "\x1f".join(map(str, parts))
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def set_fields(**fields: object) -> list[str]:
    """The fields that are set, each with its name."""
    return [f"{name}={value}" for name, value in fields.items() if value]


def canonical(workload: Workload) -> str:
    """A workload as text: equal texts, equal workloads."""
    return "|".join(_stream(stream) for stream in workload.streams)


def _stream(stream: Stream) -> str:
    values = stream.__dict__
    return ";".join(
        [
            f"{name}={value if type(value) in SIMPLE else _complex(value)}"
            for name, default in DEFAULTS
            if (value := values[name]) is not default and value != default
        ]
    )


@ByIdentity
def _complex(value: LazyModel | tuple[LazyModel | str, ...]) -> str:
    if isinstance(value, tuple):
        return (
            "[" + ",".join(sorted(map(canonical_value, value))) + "]"
        )  # sizes have no order
    return canonical_value(value)


def canonical_value(value: LazyModel | str) -> str:
    """A model with its kind, which is a default that matters; or a host."""
    if isinstance(value, str):
        return value
    text = sparse_json(value)
    return f"{getattr(value, 'kind', '')}{text}"


def set_of(workload: Workload) -> dict[str, object]:
    """What of a workload is set, in JSON's types, as `canonical` has it."""
    return {"streams": [_set_of(stream) for stream in workload.streams]}


def _set_of(stream: Stream) -> dict[str, object]:
    values = stream.__dict__
    return {
        name: value if type(value) in SIMPLE else _plain(value)
        for name, default in IN_ORDER
        if (value := values[name]) is not default and value != default
    }


@ByIdentity
def _plain(value: LazyModel | tuple[LazyModel | str, ...]) -> object:
    if isinstance(value, tuple):
        return [one if isinstance(one, str) else _plain(one) for one in value]
    return value.model_dump(mode="json", exclude_defaults=True)


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
        rule=canonical_value(step.rule) if step.rule else "",
    )
    return digest("write", canonical(step.workload), *fields)
