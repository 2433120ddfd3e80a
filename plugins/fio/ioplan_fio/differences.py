"""When fio does otherwise than a plan says with the same numbers: the one rule, for
what the backend runs and for what is imported.

A plan flushes once after so many writes, while its other I/Os go on, and its queue
depth is exact.
"""

from __future__ import annotations

from msgspec import Struct

SYNC_MENDED = (3, 38)
"""Since then fio flushes once for so many writes ("Ensure fsync only after write")."""
QUEUED = ("io_uring", "posixaio")
"""Engines that queue a flush as any I/O; others wait for it, and do nothing else."""


DEPTH_MENDED = (3, 39)
"""Since then a queue depth by io_uring is exact ("don't mess with non power-of-2 queue
depth")."""


def depth_of(engine: str, qd: int, version: tuple[int, ...] = ()) -> int:
    """The queue depth that fio's engine has with `iodepth=qd`."""
    if not engine.startswith("io_uring") or version >= DEPTH_MENDED:
        return qd
    return 1 << (qd - 1).bit_length()


class FlushGap(Struct, frozen=True):
    """What differs, what fio does instead, and the edit that makes it exact."""

    reason: str
    instead: str
    edit: str = ""


def flush_gap(
    engine: str,
    qd: int,
    *,
    mixed: bool,
    waits: bool,
    version: tuple[int, ...] = (),
) -> FlushGap | None:
    """How fio's flushes differ in a job that writes; None where they do not.

    `mixed` with reads; `waits` between I/Os, by a rate or think time. Without a
    version it is that of any fio.
    """
    if qd > 1 and engine not in QUEUED:
        reason = f"a flush by fio's {engine} blocks its job, and a plan's does not"
        if engine == "libaio" and waits:
            reason = (
                "fio's libaio leaves out flushes (seen: 13 to 70 %) if it waits "
                "between I/Os and several are in flight"
            )
            return FlushGap(reason, "flushing less often")
        return FlushGap(reason, f"hardly more than one of {qd} in flight", "qd 1")
    if version >= SYNC_MENDED or not (mixed or qd > 1):
        return None
    reason = (
        "before 3.38 fio may flush several times for the same writes, when reads are "
        "mixed in or several I/Os are under way"
    )
    return FlushGap(reason, "flushing more often", "fio 3.38 or newer")
