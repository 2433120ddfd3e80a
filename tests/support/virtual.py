"""What a backend of the tests needs not say: one in virtual time, which can do anything."""

from ioplan.backends import (
    Availability,
    TargetFacts,
    ignore_progress,
)
from ioplan.core.context import Closing
from ioplan.language.spoken import VOCABULARY


class VirtualBackend:
    """Speaks all words."""

    name = "virtual"
    virtual_time = True
    speaks = VOCABULARY

    def availability(self, options):
        return Availability(usable=True, version="1")

    def gaps(self, job, options):
        return []

    def native(self, job, options):
        return job.model_dump_json()

    def open(self, request):
        raise NotImplementedError


class VirtualDrive:
    """Nothing is held."""

    def __init__(self, path, capacity_bytes, **identity):
        self.facts = TargetFacts(
            path=path,
            kind="simulated",
            capacity_bytes=capacity_bytes,
            block_bytes=512,
            identity=identity,
        )

    def purge(self, on_progress=ignore_progress):
        return "every block erased"

    def idle(self, pause_ns):
        pass

    def close(self):
        pass


class VirtualExecution(Closing):
    """A run that looks whether it is stopped."""

    never_waits = True
    stopped = False

    def stop(self):
        self.stopped = True

    kill = close = stop
