"""The commands of the test device, and of the witness that looks through it."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
