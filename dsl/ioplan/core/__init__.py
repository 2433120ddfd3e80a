"""What all rooms use: statistics, units, texts, errors and the system's facts."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
