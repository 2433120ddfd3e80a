"""CPUs that runs of this machine have at the moment, so that no two share one unsaid.

A claim is a socket with a name that only one process can have. The kernel gives it back
however that process ends, and nothing lies in a folder.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from ioplan.core.context import Closing

NAME = "\0ioplan cpu {}"


class CpuClaims(Closing):
    """The first CPUs that are free, as many as are wanted, held until it is closed.

    `order` has them first, then the others; `shared` are those that are used all the
    same, as there are not enough.
    """

    def __init__(self, cpus: Sequence[int], wanted: int) -> None:
        self._held: list[socket.socket] = []
        claimed: list[int] = []
        for cpu in cpus:
            if len(claimed) < wanted and self._claim(cpu):
                claimed.append(cpu)
        self.order = (*claimed, *(cpu for cpu in cpus if cpu not in claimed))
        self.shared = self.order[len(claimed) : wanted]

    def _claim(self, cpu: int) -> bool:
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(NAME.format(cpu))
        except OSError:
            name.close()
            return False
        self._held.append(name)
        return True

    def close(self) -> None:
        """Others may have them."""
        while self._held:
            self._held.pop().close()
