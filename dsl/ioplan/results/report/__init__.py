"""Reports of sessions: pages, pictures and the terminal."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
