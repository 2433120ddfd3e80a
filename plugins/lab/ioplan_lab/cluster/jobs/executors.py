"""What runs the lanes of a job: this host, or the workers of a lab."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from ioplan.results.store import (
    LANE_LIFE_S,
    Delivery,
    default_path,
    delivered_now,
    send_now,
)
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder, lanes_root
from ioplan_lab.cluster.jobs.reporting import start_reporter

States = dict[str, LaneState]
"""By session."""


class Executor(Protocol):
    """Every method can be repeated at any time: no lane is started twice.

    Raises OSError where a lane cannot be started here, ClusterError.
    """

    def unready(self, calls: Sequence[LaneCall]) -> dict[str, ClusterError]:
        """The lanes' hosts that can start none now, and why. Lanes wait for them."""

    def refusals(self, calls: Sequence[LaneCall]) -> dict[str, str]:
        """Why lanes are refused for the data on their targets, by session.

        Of hosts that do not report there is none: their lanes are refused later.
        """

    def start(self, calls: Sequence[LaneCall]) -> None:
        """Start the lanes that do not run yet."""

    def states(self, calls: Sequence[LaneCall]) -> States:
        """The states that are known now."""

    def silent(self, calls: Iterable[LaneCall]) -> dict[str, float | None]:
        """The hosts that do not report, and for how many seconds, if that is known."""

    def stop(self, calls: Iterable[LaneCall], person: str = "") -> list[str]:
        """End the lanes' I/O, as a person wants it.

        Returns the hosts that could not be reached.
        """

    def reset(self, calls: Iterable[LaneCall]) -> list[str]:
        """Let stopped and failed lanes be started again; what they did is kept.

        Returns the hosts that could not be reached.
        """

    def delivered_now(
        self, calls: Sequence[LaneCall], place: str
    ) -> dict[str, Delivery]:
        """What the database there has of the lanes that the hosts have, by session.

        Each host asks it now. Of hosts that do not answer there is none.
        """

    def deliver(self, calls: Sequence[LaneCall], place: str) -> list[str]:
        """Have the hosts send the lanes' results there now.

        Returns the hosts that could not be reached.
        """

    def close(self) -> None:
        """Disconnect; the lanes go on."""


class LocalExecutor:
    """Lanes on this host, each a process that runs `program`."""

    def __init__(self, program: str) -> None:
        self.program = program

    def unready(self, calls: Sequence[LaneCall]) -> dict[str, ClusterError]:
        return {}

    def refusals(self, calls: Sequence[LaneCall]) -> dict[str, str]:
        return {}

    def start(self, calls: Sequence[LaneCall]) -> None:
        for call in calls:
            LaneFolder.of(call).advance(self.program)
        for root in {lanes_root(call.store) for call in calls}:
            start_reporter(root)

    def states(self, calls: Sequence[LaneCall]) -> States:
        return {call.session: LaneFolder.of(call).state() for call in calls}

    def silent(self, calls: Iterable[LaneCall]) -> dict[str, float | None]:
        return {}

    def stop(self, calls: Iterable[LaneCall], person: str = "") -> list[str]:
        for call in calls:
            LaneFolder.of(call).stop(person)
        return []

    def reset(self, calls: Iterable[LaneCall]) -> list[str]:
        for call in calls:
            LaneFolder.of(call).reset()
        return []

    def delivered_now(
        self, calls: Sequence[LaneCall], place: str
    ) -> dict[str, Delivery]:
        sessions = [call.session for call in calls]
        return {
            id: one
            for store in {_store(call) for call in calls}
            for id, one in delivered_now(store, sessions, place).items()
        }

    def deliver(self, calls: Sequence[LaneCall], place: str) -> list[str]:
        sessions = frozenset(call.session for call in calls)
        for store in {_store(call) for call in calls}:
            send_now(store, sessions, place, LANE_LIFE_S)
        return []

    def close(self) -> None:
        pass


def _store(call: LaneCall) -> Path:
    return Path(call.store).expanduser() if call.store else default_path()
