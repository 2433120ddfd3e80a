"""Stores of sessions, in SQLite or PostgreSQL."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
