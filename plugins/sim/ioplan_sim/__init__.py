"""A simulated SSD in virtual time, and how to write a backend.

What any backend has: `backend` (what ioplan calls) and `execution` (a run and its
events).
The drive: `spec` (the drive file), `ssd` (a drive over its runs), `geometry` (its
scale), `flash` (the map and garbage collection), `load` and `placement` (what streams
ask, and where).
Its speed: `speed` (in a state of the drive), from a `batch` of I/Os that `io_source`
draws and `queue_model` follows one by one; `latency` (drawn from what they had).
`docs/sim.md` says what is modelled and how exactly.
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
