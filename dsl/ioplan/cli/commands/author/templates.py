"""Plans to begin with, each for a question that one has about a drive."""

from __future__ import annotations

from msgspec import Struct


class Template(Struct, frozen=True):
    """A plan's text with `{title}` in it, and the question that it answers."""

    name: str
    question: str
    text: str


FILLED = """\
precondition filled {{
  write sequential 128KiB, qd 8, 1 pass
}}
"""
HEAD = """\
# Is it right?              ioplan check FILE
# What would it do?         ioplan plan FILE --capacity 1TB
# On a simulated drive:     ioplan run FILE --backend sim --create 1GiB
plan "{title}"

param run_time = 30s
profile smoke {{ run_time = 1s }}

"""

TEMPLATES = (
    Template(
        "depth",
        "how fast is it at which queue depth?",
        HEAD
        + FILLED
        + """
test "Random reads over queue depth" {{
  after  filled
  run    random 4KiB 100/0 for run_time, warmup 5s
  vary   qd in 1..128 doubling
  expect errors == 0
  chart  lines iops, p99 by qd
}}
""",
    ),
    Template(
        "size",
        "how fast is it at which block size and mix?",
        HEAD
        + FILLED
        + """
test "Block size and mix" {{
  after  filled
  run    random, qd 32 for run_time, warmup 5s
  vary   size in 4KiB, 16KiB, 64KiB, 256KiB, 1MiB
  vary   read in 100%, 70%, 0%
  chart  heatmap bandwidth by size, read
}}
""",
    ),
    Template(
        "application",
        "does it meet an application's latency limits?",
        HEAD
        + FILLED
        + """
workload database {{
  tables = random 8KiB 70/30, qd 32
  log    = sequential 16KiB 0/100, qd 1, sync every 1
}}

test "Database" {{
  after  filled
  run    database for run_time, warmup 5s
  expect tables.read.p99 < 2ms
  expect log.p99.9 < 10ms
  chart  percentiles tables.read.p99, log.p99
}}
""",
    ),
    Template(
        "steady",
        "what is the random write performance in steady state?",
        HEAD
        + """
precondition full {{
  purge
  write sequential 128KiB, qd 32, 2 passes
}}

test "Random writes to steady state" {{
  after  full
  run    random 4KiB 0/100, qd 32 for run_time
  rounds until steady iops, at most 25
  chart  lines iops by round
}}
""",
    ),
    Template(
        "time",
        "how consistent is it over time?",
        HEAD
        + FILLED
        + """
test "Random writes over time" {{
  after  filled
  run    random 4KiB 0/100, qd 32 for 10min
  chart  scatter iops over time
  chart  bands p50, p99, max over time
}}
""",
    ),
    Template(
        "library",
        "workloads and preconditions for other plans to use",
        """\
# Use it in a plan beside it: use "FILE" as mine
param depth = 32

workload oltp = random 8KiB 70/30, qd depth

precondition filled {{
  write sequential 128KiB, qd 8, 1 pass
}}
""",
    ),
)
BY_NAME = {one.name: one for one in TEMPLATES}
