"""What a lane is told: one plan on one target of one host."""

from __future__ import annotations

from ioplan.model import Model


class LaneCall(Model):
    """All that the host needs, in itself: nothing of the caller's disk is read.

    `files` are the plan and what it uses, by paths below the lane's folder, `lab` is
    the lab as the host sees it, `args` are further words of `ioplan run`. No two
    lanes of a host with a lock in common go on at the same time.
    """

    job: str
    session: str
    target: str
    host: str = ""
    plan: str
    files: dict[str, str]
    lab: str
    args: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    store: str | None = None
