"""The figures of a plan's cells over all sessions that did the same, and changes."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
