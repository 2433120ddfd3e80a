"""What a host is told of a session that several hosts do together."""

from __future__ import annotations

from ioplan.lab.lab import Lab
from ioplan.model import Model


class PartCall(Model):
    """One host's part; `lab` is the lab as this host sees it, from `lab_file`.

    The host that `leads` opens the target first, prepares it, and lets others in.
    """

    session: str
    target: str
    backend: str
    lab: Lab
    lab_file: str
    options: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()
    writes: bool = False
    leads: bool = False
