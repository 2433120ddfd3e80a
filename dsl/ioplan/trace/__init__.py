"""Recorded I/O, to be replayed."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
