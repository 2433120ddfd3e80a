"""Runs plans on targets: labs, devices, telemetry and sessions."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
