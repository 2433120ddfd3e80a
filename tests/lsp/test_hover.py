"""What is said of a place."""

from __future__ import annotations

import pytest
from written import hovered

PLAN = """use "std/preconditions.ioplan" as pre
# How long each run goes on.
param run_time = 3min
param also = run_time
profile smoke { run_time = 1s }
workload base = random 8KiB 70/30, qd 32
workload other = base, qd 8, rate 1_000 iops
test "Scaling" {
  after pre.filled
  run other for also, warmup 10s
  vary align in 4KiB, 8KiB, 16KiB
  expect read.p99.9 < 2ms
  chart lines iops by align
}
"""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("random 8KiB", ["the access pattern", "fio: `rw`"]),
        ("8KiB 70", ["8_192 B"]),
        ("70/30", ["70 % reads"]),
        ("qd 32", ["outstanding I/Os", "Default: 1", "`iodepth`"]),
        ("rate 1", ["open loop"]),
        ("run_time = 3min", ["How long each run goes on", "1s in the profile smoke"]),
        ("also, w", ["= 3min = 180_000_000_000 ns"]),
        ("other for", ["random 8KiB 70/30, qd 8, rate 1_000 iops"]),
        ("pre.filled", ["write sequential 128KiB, qd 32, fill"]),
        ("filled", ["Every block written once"]),
        ("warmup", ["before the measured part"]),
        ("align in", ["offsets are multiples"]),
        ("read.p99", ["latency"]),
        ("lines", ["a line over"]),
        ("test", ["what to measure"]),
        ("std/pre", ["Initial states for tests", "steady4k"]),
    ],
)
def test_hover(word: str, said: list[str]) -> None:
    found = hovered(PLAN.replace(word, f"|{word}", 1))
    assert all(text in found for text in said), found


def test_nothing_is_said_of_comments() -> None:
    assert not hovered(PLAN.replace("How long", "|How long"))
