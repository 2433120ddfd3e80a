"""Those who do the lanes of a job: this host, or the workers of a lab."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ioplan.cluster.jobs.lane import LaneCall, LaneState
from ioplan.cluster.jobs.lane_folder import LaneFolder

States = dict[str, LaneState]
"""By session."""


class Crew(Protocol):
    """Every method may be called again at any time, and does nothing twice.

    Raises OSError where a lane cannot be begun here, ClusterError.
    """

    def check(self, calls: Sequence[LaneCall]) -> None:
        """See that nothing is in the way, before anything begins."""

    def begin(self, calls: Sequence[LaneCall]) -> None:
        """See that these lanes go on, or begin them."""

    def look(self, calls: Sequence[LaneCall]) -> States:
        """How they go, as far as it is known now."""

    def missing(self, calls: Iterable[LaneCall]) -> list[str]:
        """The hosts of which nothing is heard."""

    def stop(self, calls: Iterable[LaneCall]) -> list[str]:
        """End their I/O; returns the hosts that could not be told."""

    def again(self, calls: Iterable[LaneCall]) -> None:
        """Let those that stopped or failed go on from what they have done."""

    def close(self) -> None:
        """Leave them alone."""


class Here:
    """Lanes on this host."""

    def check(self, calls: Sequence[LaneCall]) -> None:
        pass

    def begin(self, calls: Sequence[LaneCall]) -> None:
        for call in calls:
            LaneFolder.of(call).advance()

    def look(self, calls: Sequence[LaneCall]) -> States:
        return {call.session: LaneFolder.of(call).state() for call in calls}

    def missing(self, calls: Iterable[LaneCall]) -> list[str]:
        return []

    def stop(self, calls: Iterable[LaneCall]) -> list[str]:
        for call in calls:
            LaneFolder.of(call).stop()
        return []

    def again(self, calls: Iterable[LaneCall]) -> None:
        for call in calls:
            LaneFolder.of(call).again()

    def close(self) -> None:
        pass
