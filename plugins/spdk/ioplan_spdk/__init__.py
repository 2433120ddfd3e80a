"""SPDK: one `bdevperf` process for each run, driven over its JSON-RPC socket.

With the option driver=fio it is the fio backend with SPDK's plugin: see `plugin`.

Read in this order: `place` (what a target may be), `script` (a run as a command
and a dialogue), `gaps` (what bdevperf cannot say), `execution` (the dialogue held),
`meter` (from its statistics to counts).
"""

from ioplan_spdk.backend import SpdkBackend

__all__ = ["SpdkBackend"]
