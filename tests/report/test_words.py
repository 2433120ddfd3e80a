"""What a user reads of a run: an engineer's words, and figures that agree with verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan, last_records, plan_file

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
def test_a_run_is_told_in_words(name: str, tmp_path: Path) -> None:
    body, wanted, unwanted = WORDS[name]
    done = ioplan("run", plan_file(tmp_path, f'test "T" {{ {body} }}'), *SIM)
    out = done.out[: done.out.rindex(" kept")]
    assert re.search(wanted, out, re.MULTILINE), out
    assert not re.search(unwanted, out.partition("\n")[2]), out


@pytest.mark.parametrize(("sign", "off"), [(">=", 0.25), ("<=", -0.25)])
def test_a_figure_that_failed_its_limit_is_not_shown_as_the_limit(
    sign: str, off: float, tmp_path: Path
) -> None:
    """As 2.9999k IOPS were shown as 3.00k of at least 3,000."""
    body = f"{READS}, qd 4 for 100ms"
    ioplan("run", plan_file(tmp_path, f'test "T" {{ {body} }}'), *SIM)
    (record,) = last_records(tmp_path / "results.db")
    limit = record.total.iops + off
    text = f'test "T" {{ {body} expect iops {sign} {limit} iops }}'
    done = ioplan("run", plan_file(tmp_path, text), *SIM)
    found = re.search(rf"iops {sign} {limit} iops[^:]*: ([\d.,]+)(k?)", done.out)
    assert done.code == 1 and found, done.out
    shown = float(found[1].replace(",", "")) * (1000 if found[2] else 1)
    assert (shown < limit) == (off > 0) and shown != limit
