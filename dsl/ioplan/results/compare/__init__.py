"""Two sides of one or several sessions: what is better, worse, or inconclusive."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
