"""What one cell, or a whole plan, came to in all sessions that did the same."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
