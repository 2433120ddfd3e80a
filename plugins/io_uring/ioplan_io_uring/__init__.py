"""The io_uring backend: runs the engine `ioplan-engine` and reads its events."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
