"""Jobs that cannot run on a target, and those just beside them that can."""

import pytest

from ioplan.backends import TargetRequest
from ioplan.job import Failure, Result
from ioplan_sim import SimBackend
from ioplan_testing import job, sizes, stream

KIB, END = 1024, 1 << 20
DRIVE = SimBackend().open(TargetRequest(create_bytes=END))
FACTS = DRIVE.facts


def of_stream(**fields):
    return job(FACTS, stream(FACTS, **fields))


def region(start, end):
    return {"region_start_bytes": start, "region_end_bytes": end}


def cause(asked):
    """Why it cannot run, by the events of a drive."""
    with DRIVE.start(asked) as execution:
        *others, last = execution
    if isinstance(last, Failure):
        assert not others and last.message
        return last.cause
    assert isinstance(last, Result)
    return None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"streams": ()}, "bad-job"),
        ({"run_ns": None}, "bad-job"),
        ({"run_ns": None, "limit_bytes": 1}, None),
        ({"run_ns": None, "passes": 0.5}, None),
    ],
)
def test_a_job_has_streams_and_an_end(fields, expected):
    assert cause(of_stream().model_copy(update=fields)) == expected


def test_who_writes_may_write():
    writing = of_stream(read_percent=0)
    assert cause(writing) is None
    assert cause(writing.model_copy(update={"read_only": True})) == "bad-job"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"read_sizes": sizes(b1000=100)}, "unaligned"),
        ({"write_sizes": sizes(b1000=100)}, None),  # it only reads
        ({"write_sizes": sizes(b1000=100), "trim_percent": 10}, "unaligned"),
        ({"align_bytes": 256}, "unaligned"),
        (region(256, END), "unaligned"),
        (region(0, END + 512), "too-small"),
        (region(0, END), None),
        (region(0, 4 * KIB), None),
        (region(0, 4 * KIB - 512), "too-small"),
        (region(512, 5 * KIB), "too-small"),  # no place in it is aligned
        (region(512, 5 * KIB) | {"align_bytes": 512}, None),
        (region(0, 4 * KIB) | {"threads": 2}, None),  # they share it
        (region(0, 4 * KIB) | {"threads": 2, "pattern": "sequential"}, "too-small"),
        (region(0, 8 * KIB) | {"threads": 2, "pattern": "sequential"}, None),
    ],
)
def test_each_io_has_its_place(fields, expected):
    assert cause(of_stream(**fields)) == expected
