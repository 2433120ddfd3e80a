"""SPDK: one `bdevperf` process for each run, driven over its JSON-RPC socket.

Read in this order: `place` (what a target may be), `script` (a run as a command
and a dialogue), `gaps` (what bdevperf cannot say), `execution` (the dialogue held),
`meter` (from its statistics to counts).
"""

from ioplan_spdk.backend import SpdkBackend

__all__ = ["SpdkBackend"]
