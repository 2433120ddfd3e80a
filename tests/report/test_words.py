"""What a user reads of a run: an engineer's words, and figures that agree with verdicts."""

import re

import pytest
from command import ioplan, plan_file

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("store_path")]
SIM = ("--backend", "sim", "--create", "64MiB")
READS = "run random 4KiB 100/0"
ALIGNED = (
    "run random 100/0, qd 4 for 100ms vary size in 512B, 4KiB vary align in size, 512B"
    " headline iops at size == {} and align == {}"
)
WORDS = {
    "the drive and the backend": (
        f"{READS} for 100ms",
        r"^drive .*, backend sim; session ",
        r"\bby sim\b|[Ss]teady state",
    ),
    "an open loop by its rate, never by the cap of its queue": (
        f"{READS}, qd 128, rate 5_000 iops for 2s",
        r", 5,000 IOPS\s",
        r"QD 128|±",
    ),
    "a rate in bytes": (
        f"{READS}, qd 128, rate 20MB/s for 2s",
        r", 20\.0 MB/s\s",
        r"QD 128",
    ),
    "a ramp by its ends": (
        f"{READS}, qd 64, ramp 500 iops..20_000 iops for 2s",
        r", 500 to 20\.0k IOPS\s",
        r"QD 64",
    ),
    "I/O aligned to its size": (
        ALIGNED.format("4KiB", "size"),
        r"IOPS, 4 KiB aligned\s",
        r"alignment size",
    ),
    "I/O aligned to something else": (
        ALIGNED.format("4KiB", "512B"),
        r"IOPS, size 4KiB, 512 B aligned\s",
        r"alignment 512",
    ),
    "a percentile of too few": (
        f"{READS} for 100ms headline p99.9999",
        r"too few I/Os for p99\.9999",
        r"\d_\d|of \d+ figures",
    ),
    "a search without a value": (
        f"{READS} for 100ms seek highest qd in 1..8 where p99 <= 1ns",
        r"no queue depth met the limit \(QD 1 already fails\)",
        r"that was tried",
    ),
    "throughput above a gigabyte": (
        "run sequential 128KiB 100/0, qd 32 for 100ms",
        r" \d\.\d\d GB/s\s",
        r"\d{4} MB/s",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_a_run_is_told_in_words(name, tmp_path):
    body, wanted, unwanted = WORDS[name]
    done = ioplan("run", plan_file(tmp_path, f'test "T" {{ {body} }}'), *SIM)
    out = done.out[: done.out.rindex(" kept")]
    assert re.search(wanted, out, re.MULTILINE), out
    assert not re.search(unwanted, out.partition("\n")[2]), out
