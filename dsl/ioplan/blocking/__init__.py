"""The smallest way to a backend: whoever can read and write has one.

    class MyBackend(BlockingBackend):
        name = "mine"

        def connect(self, path: str, options: dict[str, Any]) -> Device:
            return MyDevice(path)      # size_bytes, read, write, close

Each outstanding I/O is a thread with a connection of its own. Python costs some
10 to 50 us for each I/O, and one core does it for all threads together: good for
what is behind a network or a slow protocol, useless for a fast local drive, whose
limit this is not. `examples/nbd_backend` is one, from its first line to its tests.
"""

from ioplan.blocking.backend import BlockingBackend
from ioplan.blocking.threads import Device

__all__ = ["BlockingBackend", "Device"]
