"""SPDK: one `bdevperf` process for each run, driven over its JSON-RPC socket.

With the option driver=fio it is the fio backend with SPDK's plugin: see `fio_plugin`.

Read in this order: `target_spec` (what a target may be), `drive` (an open one), and in
`bdevperf` `script` (a run as a command and a dialogue), `gaps` (what it cannot say),
`execution` (a run), `timed_test` (the dialogue held) and `meter` (from the statistics
to counts).
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
