"""The io_uring backend: runs the engine `ioplan-engine` and reads its events."""

from ioplan_io_uring.backend import IoUringBackend

__all__ = ["IoUringBackend"]
