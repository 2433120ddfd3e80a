"""Unfolds checked plans into steps and jobs, and says what they cost."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
