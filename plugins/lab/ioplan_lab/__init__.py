"""Labs: drives of several hosts, with PostgreSQL as the one truth."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
