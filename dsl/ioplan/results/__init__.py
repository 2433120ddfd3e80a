"""Results as files: exports and bundles."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
