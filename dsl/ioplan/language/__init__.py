"""The plan language: texts in, checked plans or errors with their places out."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
