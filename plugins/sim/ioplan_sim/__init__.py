"""A simulated SSD in virtual time, and how to write a backend.

What any backend has: `backend` (what ioplan calls) and `execution` (a run and its
events).
The drive: `spec` (the drive file), `device` (a drive over its runs), `geometry`
(its scale), `flash` (the map and garbage collection), `load` and `places` (what
streams ask, and where), `batch` (I/Os one by one), `speed` and `latency` (what
comes out of batches). `sim.md` says what is modelled and how exactly.
"""

from ioplan_sim.backend import SimBackend

__all__ = ["SimBackend"]
