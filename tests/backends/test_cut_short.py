"""Runs of real programs that are interrupted or killed: no I/O goes on, no figure is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from started import Started, is_running, started

pytestmark = pytest.mark.slow

PLAN = """
precondition filled { write sequential 128KiB, qd 8, 1 pass }
test "Short" { after filled run random 4KiB 50/50, qd 8 for 100ms }
test "Long" { run random 4KiB 50/50, qd 4 for 60s vary align in size, 512B }
"""
BACKENDS = ["io_uring", pytest.param("fio", marks=NEEDS_FIO)]


@pytest.fixture
def long_run(
    request: pytest.FixtureRequest, tmp_path: Path, store_path: Path
) -> Iterator[Started]:
    """An ioplan that measures its long test."""
    words = ("--target", tmp_path / "scratch", "--create", "16MiB")
    plan, backend = plan_file(tmp_path, PLAN), ("--backend", request.param)
    more = ("--allow", "align") if request.param == "fio" else ()
    with started(plan, *words, *backend, *more) as made:
        made.until("step", 3)
        made.until("progress")
        yield made


on_each = pytest.mark.parametrize("long_run", BACKENDS, indirect=True)


@pytest.mark.long_but_first
@on_each
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.promise("exit_codes.interrupted", "resume.ctrl_c")
def test_an_interrupt_stops_the_io_at_once_and_keeps_what_is_done(
    number: signal.Signals, long_run: Started
) -> None:
    program = long_run.backend
    long_run.process.send_signal(number)
    asked = time.monotonic()
    assert long_run.end() == 130 and time.monotonic() - asked < 30  # of 60
    assert not is_running(program)
    end = {"type": "end", "status": "interrupted", "verdict": "none"}
    assert long_run.lines[-1] == end
    runs = ioplan("export", "last", "--format", "jsonl").lines
    assert [one["status"] for one in runs] == ["ok", "ok", "interrupted"]
    assert runs[-1]["total"]["ios"] > 100
