"""Figures of runs: histograms, intervals, metrics and what decides steady state."""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
