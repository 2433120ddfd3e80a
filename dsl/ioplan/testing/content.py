"""What a run has done to the bytes of a target: pure comparisons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]


def changed(before: bytes, after: bytes, block_bytes: int) -> Flags:
    """Which blocks are not what they were."""
    assert len(before) == len(after), (
        f"the target had {len(before)} B and has {len(after)} B"
    )
    whole = len(before) // block_bytes * block_bytes
    old, new = (np.frombuffer(side[:whole], np.uint8) for side in (before, after))
    flags: Flags = (old != new).reshape(-1, block_bytes).any(axis=1)
    return flags


def check_same(before: bytes, after: bytes) -> None:
    """Nothing has changed."""
    count = int(changed(before, after, 512).sum())
    assert not count, f"{count} blocks of 512 B have changed, but nothing may"


def check_inside(before: bytes, after: bytes, start: int, end: int) -> None:
    """What has changed lies inside the region, and something has."""
    flags = changed(before, after, 512)
    outside = int(flags[: start // 512].sum() + flags[end // 512 :].sum())
    assert not outside, f"{outside} blocks outside the region were written"
    assert flags.any(), "nothing was written, though writes were counted"


def check_aligned(before: bytes, after: bytes, size: int) -> None:
    """Each I/O of `size`, aligned to itself, has changed a whole place."""
    flags = changed(before, after, 512)
    places = flags[: len(flags) * 512 // size * size // 512].reshape(-1, size // 512)
    torn = int((places.any(axis=1) & ~places.all(axis=1)).sum())
    assert not torn, f"{torn} places of {size} B were written in part: not aligned"


def check_covered(before: bytes, after: bytes, start: int, end: int, size: int) -> None:
    """Each block of the region was written."""
    flags = changed(before[start:end], after[start:end], size)
    left = int((~flags).sum())
    assert not left, f"{left} of {len(flags)} blocks were not written in one pass"


def check_written(before: bytes, after: bytes, size: int, wrote_bytes: int) -> None:
    """No more has changed than was counted."""
    count = int(changed(before, after, size).sum())
    assert count * size <= wrote_bytes, (
        f"{count} blocks of {size} B have changed, but {wrote_bytes} B were counted"
    )
