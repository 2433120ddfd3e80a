"""Two sides, each one session or several: what is better, worse, or undecided."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
