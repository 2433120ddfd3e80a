"""How many bytes may still be moved; slots take from it before each I/O."""

from __future__ import annotations

from math import inf
from threading import Lock


class Budget:
    """It is overdrawn by the last I/O at most."""

    def __init__(self, left_bytes: float = inf, whole: Budget | None = None) -> None:
        self.left_bytes, self.whole, self.lock = left_bytes, whole, Lock()

    def take(self, size_bytes: int) -> bool:
        """Whether an I/O of that size may be done; then it is counted."""
        with self.lock:
            if self.left_bytes <= 0 or not (self.whole or FREE).take(size_bytes):
                return False
            self.left_bytes -= size_bytes
            return True


class _Free(Budget):
    def take(self, size_bytes: int) -> bool:
        return True


FREE = _Free()
"""What the warm-up takes from."""
