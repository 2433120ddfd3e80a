"""Any text of 10 kB is checked and planned, or refused, in little time and memory."""

import sys
from math import inf

import pytest
from command import plan_file, program
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.slow, pytest.mark.long]

MOST_BYTES, MOST_MB = 10_000, 300
MOST_ADDITIONS = 6.0
"""CPU time beside ten million additions in Python, which take about a second: 2.5 to 3
on an idle machine, 3.5 where each run has a rate, and more where CPUs are shared."""
TRIES = 3
"""What shares a core for a moment costs CPU time as well: the least is the text's."""
ADDITIONS = "total = 0\nfor number in range(10_000_000): total += number"
AXES = " vary qd in 1..300 step 1\n vary size in 4KiB..1MiB step 4KiB\n"
LINES = {
    "limits": "expect p99 < {n}ms",
    "limits of reads": "expect read.p99 < {n}ms",
    "limits in cells": "expect p99 < {n}ms when qd > 5 and size > 8KiB and qd < {m}",
    "formulas": "expect p99 < {n}ms when size * qd > {m}MiB",
    "skips": "skip when qd == {n} and size == 8KiB",
    "skipped formulas": "skip when size * qd > {m}MiB",
    "headlines": "headline iops when qd == {n} and size == 8KiB",
    "phases": "expect p99 during peak < {n}ms",
}
RUNS = (
    *("random 4KiB 100/0 for 1s", "random 4KiB 50/50, rate 9_000 iops for 60s"),
    "random 4KiB 50/50, burst 5s of 9_000 iops as peak, then 25s of 500 iops for 60s",
)


def filled(start, line, end):
    """As many lines as 10 kB take."""
    lines, n = [start], 0
    while sum(map(len, lines)) + len(lines) < MOST_BYTES - 200:
        n += 1
        lines.append(line.format(n=n, m=n + 290, p=n - 1))
    return "\n".join([*lines, end])


def of_lines(kinds, run):
    """One large test with very many conditions and limits."""
    line = "\n ".join(LINES[kind] for kind in kinds)
    return filled(f'test "t" {{ run {run}\n{AXES}', line, "}")


OTHERS = {
    "tests": filled("", f'test "t{{n}}" {{{{ run {RUNS[0]} {AXES}}}}}', ""),
    "seeks": f'test "t" {{ run {RUNS[0]} vary read in 0%..100% step 1%\n'
    " vary size in 4KiB..1MiB step 4KiB\n seek highest qd in 1..512 where p99 < 1ms }",
    "preparations": "precondition p { write random 4KiB, 1 pass }\n"
    f'test "t" {{ after p before each run run {RUNS[0]}\n{AXES} }}',
    "shares": filled(
        f'test "a" {{ run {RUNS[0]}\n{AXES} }}',
        'test "b{n}" {{ run random 4KiB 100/0, rate 50% of "a" for 1s '
        "vary size in 4KiB..1MiB step 4KiB }}",
        "",
    ),
}
"""Beside those that test_fuzz.py has checked."""


USED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=2).returncode
own = resource.getrusage(resource.RUSAGE_CHILDREN)
print(own.ru_utime + own.ru_stime, own.ru_maxrss / 1024, code)
"""
"""Starts a process from a small one, as the peak of who starts it counts as its own."""


def used(*command):
    """CPU time in s, peak memory in MB and the exit code of a process."""
    words = [sys.executable, "-c", USED, *command]
    done = program(*words, check=True)
    cpu_s, peak_mb, code = done.stdout.split()
    return float(cpu_s), float(peak_mb), int(code)


def check(text, folder):
    assert len(text) <= MOST_BYTES
    plan = plan_file(folder, text)
    for command in ("check", "plan"):
        words = [sys.executable, "-m", "ioplan.cli", command, str(plan)]
        ratios = []
        while len(ratios) < TRIES and min(ratios, default=inf) > MOST_ADDITIONS:
            ratios.append(additions_of(words))
        assert min(ratios) <= MOST_ADDITIONS, ratios


def additions_of(words):
    """The CPU time of a command in ten million additions."""
    unit_s, *_ = used(sys.executable, "-c", ADDITIONS)
    cpu_s, peak_mb, code = used(*words)
    assert code in (0, 2), f"exit code {code}"
    assert peak_mb <= MOST_MB
    return cpu_s / unit_s


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(sorted(LINES)), min_size=1, max_size=3, unique=True),
    st.sampled_from(RUNS),
)
@example(["limits"], RUNS[0])
@example(["formulas"], RUNS[0])
def test_many_lines_about_many_cells(tmp_path, kinds, run):
    check(of_lines(tuple(kinds), run), tmp_path)


@pytest.mark.parametrize("name", OTHERS)
def test_a_short_text_that_asks_for_very_much(tmp_path, name):
    check(OTHERS[name], tmp_path)
