"""What a terminal shows below the lines while a run is under way."""

from __future__ import annotations

import io

import pytest
from plans import checked

from ioplan.cli import LiveLines, Terminal
from ioplan.job import Progress
from ioplan.planner import unfold
from ioplan.records import Interval

PLAN = 'test "T" { run random 4KiB 70/30 for 10min vary qd in 1, 2 }'
STEPS = list(unfold(checked(PLAN)))


def _interval(second: int, ios: int, p99_ns: float | None) -> Interval:
    return Interval(
        t_s=second, length_s=1.0, ios={"read": ios}, bytes={"read": ios * 4096}, errors=0,
        mean_ns=p99_ns, p50_ns=p99_ns, p99_ns=p99_ns, p99_9_ns=p99_ns, max_ns=int(p99_ns or 0),
    )  # fmt: skip


def _shown(lines: LiveLines) -> list[str]:
    """The live part, as the terminal has it."""
    with lines.live.console.capture() as capture:
        lines.live.console.print(lines.live.renderable)
    return capture.get().splitlines()


def _lines(width: int) -> LiveLines:
    lines = LiveLines(Terminal(file=io.StringIO(), width=width, highlight=False))
    lines.step(STEPS[0], 1)
    return lines


def _run(lines: LiveLines, seconds: int, slow: int) -> None:
    """1,000 IOPS of 1 ms, but for one second of 125 IOPS of 8 ms."""
    for second in range(seconds):
        ios, p99_ns = (125, 8e6) if second == slow else (1000, 1e6)
        event = Progress(t_ns=second, interval_ns=10**9, streams=())
        lines.progress(event, _interval(second, ios, p99_ns), second / seconds)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_slow_second_is_where_it_was_in_both(width: int) -> None:
    lines = _lines(width)
    _run(lines, 400, slow=395)
    step, sparks, _ = _shown(lines)
    half = (width - len("IOPS   p99 ")) // 2
    assert len(step) <= width and len(sparks) <= width
    iops, _, p99 = sparks.removeprefix("IOPS ").partition("  p99 ")
    assert iops == "█" * (half - 5) + "▁" + "█" * 4
    assert p99 == "▁" * (half - 5) + "█" + "▁" * 4


def test_the_next_run_begins_anew() -> None:
    lines = _lines(80)
    _run(lines, 2, slow=1)
    assert not any(row.startswith("IOPS") for row in _shown(lines))
    _run(lines, 1, slow=1)
    assert _shown(lines)[1] == "IOPS █▁█  p99 ▁█▁"
    lines.step(STEPS[1], 2)
    assert not any(row.startswith("IOPS") for row in _shown(lines))


def test_an_interval_without_io_is_blank() -> None:
    lines = _lines(80)
    for second, ios in enumerate((100, 0, 1, 50)):
        event = Progress(t_ns=second, interval_ns=10**9, streams=())
        lines.progress(event, _interval(second, ios, 1e6 if ios else None), None)
    assert _shown(lines)[1] == "IOPS █ ▁▄  p99 █ ██"
