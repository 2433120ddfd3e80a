"""What a backend of the tests needs not say: one in virtual time, which can do anything."""

from typing import Any

from ioplan.backends import (
    Availability,
    Gap,
    ProgressCallback,
    TargetFacts,
    TargetRequest,
    ignore_progress,
)
from ioplan.core.context import Closing
from ioplan.job import Job
from ioplan.language.spoken import VOCABULARY


class VirtualBackend:
    """Speaks all words."""

    name = "virtual"
    virtual_time = True
    speaks = VOCABULARY

    def availability(self, options: dict[str, Any]) -> Availability:
        return Availability(usable=True, version="1")

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        return []

    def native(self, job: Job, options: dict[str, Any]) -> str:
        return job.model_dump_json()

    def open(self, request: TargetRequest) -> Any:
        raise NotImplementedError


class VirtualDrive:
    """Nothing is held."""

    def __init__(self, path: str, capacity_bytes: int, **identity: str) -> None:
        self.facts = TargetFacts(
            path=path,
            kind="simulated",
            capacity_bytes=capacity_bytes,
            block_bytes=512,
            identity=identity,
        )

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        return "every block erased"

    def idle(self, pause_ns: int) -> None:
        pass

    def close(self) -> None:
        pass


class VirtualExecution(Closing):
    """A run that looks whether it is stopped."""

    never_waits = True
    stopped = False

    def stop(self) -> None:
        self.stopped = True

    kill = close = stop
