"""Labs of several hosts: lanes, queues and the desk."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
