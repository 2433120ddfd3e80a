"""The guard: what may be written, and by whom."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
