"""The command `ioplan journal serve`."""

from __future__ import annotations

import sys
from pathlib import Path

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.runner.journal.receiver import Receiver, key_at


def serve(*, folder: Path, listen: str, key: Path) -> int:
    """Keep journals of other hosts, until it is stopped."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"--listen takes HOST:PORT, not {listen!r}")
    try:
        secret = key_at(key)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        receiver = Receiver((host.strip("[]"), int(port)), folder, secret)
    except OSError as error:
        raise UsageError(f"it cannot listen at {listen}: {error}") from error
    with receiver:
        print_line(f"listening at {host}:{receiver.server_address[1]}, key in {key}")
        sys.stdout.flush()
        receiver.serve_forever()
    return 0
