"""A simulated SSD in virtual time: the shortest backend, and how to write one.

Read in this order: `backend` (what ioplan calls), `execution` (a run and its
events), `load` (how streams share the drive), `flash` (the drive's state),
`latency` (histograms).
"""

from ioplan_sim.backend import SimBackend

__all__ = ["SimBackend"]
