"""The records of sessions and runs, in one schema for all backends."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
