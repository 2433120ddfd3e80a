"""bdevperf's command line."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan_spdk.options import SpdkOptions


def command(
    program: str | Path,
    socket: str | Path,
    options: SpdkOptions,
    bdev: str,
    pci: str = "",
    extra: tuple[str, ...] = (),
) -> list[str]:
    """Wait for RPC (-z), print the whole histogram (-ll), run on one bdev (-T).

    `pci` is the address of the one drive that it may touch.
    """
    arguments = ["-z", "-r", str(socket), "-m", options.cores]
    arguments += ["-s", str(options.memory_mib), *_memory(options)]
    arguments += ["-A", pci] if pci else ["-u"]
    # Neither a core dump of all hugepages, nor a trace buffer in /dev/shm.
    arguments += ["-d", "--num-trace-entries", "0"]
    return [str(program), *arguments, "-ll", "-T", bdev, *extra]


def _memory(options: SpdkOptions) -> list[str]:
    if options.no_huge:
        # Trying things out must not fail on locks that root left in /var/tmp.
        return ["--no-huge", "--disable-cpumask-locks"]
    return [] if os.geteuid() == 0 else ["--iova-mode=va"]
