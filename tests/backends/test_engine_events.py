"""What the engine prints, read: the first event without pydantic, and no other way."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from ioplan.job import Event, Progress, Started
from ioplan.process.execution import read_event

STARTED = b'{"event":"started",%s}\n'
READ = TypeAdapter(Event).validate_json


@pytest.mark.parametrize(
    "fields",
    [
        b'"mode":"io_uring","reason":"","facts":{"cpus":[0,1],"depth":4}',
        b'"mode":"sync","reason":"no io_uring here"',
        b'"mode":"io_uring"',
        b'"protocol":1,"mode":"io_uring"',
    ],
)
def test_the_first_event_is_read_as_pydantic_reads_it(fields: bytes) -> None:
    found = read_event(STARTED % fields)
    assert found == READ(STARTED % fields) and isinstance(found, Started)


@pytest.mark.parametrize(
    "text",
    [
        STARTED % b'"mode":1',
        STARTED % b'"mode":"sync","facts":[]',
        STARTED % b'"mode":"sync","more":1',
        STARTED % b'"reason":""',
        STARTED % b'"mode":"\xff"',
        b'{"event":"started",',
        b"Segmentation fault\n",
    ],
)
def test_what_is_no_event_is_none(text: bytes) -> None:
    with pytest.raises(ValidationError):
        READ(text)
    with pytest.raises(ValueError):
        read_event(text)


def test_other_events_are_read_as_ever() -> None:
    text = b'{"event":"progress","t_ns":1,"interval_ns":1,"streams":[]}'
    assert read_event(text) == Progress(t_ns=1, interval_ns=1, streams=())
