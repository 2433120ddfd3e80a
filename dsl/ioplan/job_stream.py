"""A stream of a workload with its region on one target, as jobs have it.

It stands apart from jobs and their events, which take long to import: a plan is
checked with the streams alone.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ioplan.workload import Stream, Workload


class JobStream(Stream):
    """A stream with its region in bytes of this target.

    Where a job has several `targets`, `target_numbers` are the places of its own.
    """

    region_start_bytes: Annotated[int, Field(ge=0)]
    region_end_bytes: Annotated[int, Field(gt=0)]
    target_numbers: tuple[Annotated[int, Field(ge=0)], ...] = ()

    @property
    def times(self) -> int:
        """How often it runs: targets that do not share it have all of it each."""
        return 1 if self.over_all else max(1, len(self.target_numbers))

    @property
    def trace_end_bytes(self) -> int:
        """Where the region must end for a trace in the places that it recorded."""
        if self.replay and self.offsets == "recorded":
            return self.region_start_bytes + self.replay.end_bytes
        return 0

    @property
    def region_bytes(self) -> int:
        """What one pass of it covers on each of its targets."""
        if self.replay:
            return self.replay.moved_bytes
        return self.region_end_bytes - self.region_start_bytes

    @property
    def pass_bytes(self) -> int:
        """What one pass of it covers on all of its targets."""
        return self.region_bytes * max(1, len(self.target_numbers))


def job_streams(
    workload: Workload, capacity_bytes: int, block_bytes: int
) -> tuple[JobStream, ...]:
    """Give each stream its region in whole logical blocks of the target."""

    def edge(percent: float, more_bytes: int) -> int:
        beyond = int(capacity_bytes * percent / 100) + more_bytes
        return beyond // block_bytes * block_bytes

    return tuple(
        JobStream.model_construct(
            **dict(stream),
            region_start_bytes=edge(
                stream.region.start_percent, stream.region.start_bytes
            ),
            region_end_bytes=edge(stream.region.end_percent, stream.region.end_bytes),
        )
        for stream in workload.streams
    )
