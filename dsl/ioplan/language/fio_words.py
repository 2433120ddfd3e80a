"""Words of fio's that are written otherwise here."""

from __future__ import annotations

FIO_WORDS = {
    "iodepth": "qd 32",
    **dict.fromkeys(("bs", "blocksize"), "size 4KiB"),
    **dict.fromkeys(("numjobs", "jobs"), "threads 4"),
    "runtime": "for 30s",
    "ramp_time": "warmup 5s",
    **dict.fromkeys(("rw", "readwrite", "randrw"), "random 4KiB 70/30"),
    "randread": "random 4KiB 100/0",
    "randwrite": "random 4KiB 0/100",
    "rwmixread": "read 70%",
    "rate_iops": "rate 1_000 iops",
    "loops": "2 passes, or repeat 3 { run … }",
}
"""Each with an example of what is written in its place."""


def written_here(word: str) -> str:
    """What to write in place of a word of fio's, or nothing."""
    example = FIO_WORDS.get(word)
    return f"{word} is written here: {example}" if example else ""
