"""What a backend does when things go wrong, or must end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from uuid import uuid4

import pytest

from ioplan.backends import Drive
from ioplan.job import SECOND_NS, Event, Job, Progress, Result
from ioplan.runner import PROC, processes, threads
from ioplan_testing.checks import check_surfaced, described
from ioplan_testing.subject import Subject, stream

MARK = "IOPLAN_CONFORMANCE"
GRACE_S = 0.3
"""A process that was waited for is gone; a thread may need a moment."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fails when processes or threads that began in the block outlive it.

    Each child inherits a mark in its environment, so that one that has changed
    its parent is found as well.
    """
    mark, before = str(uuid4()), (_children(), set(threading.enumerate()))
    outer = os.environ.get(MARK)
    os.environ[MARK] = mark
    try:
        yield
    finally:
        os.environ.pop(MARK)
        if outer is not None:
            os.environ[MARK] = outer
    _check(mark, *before)


def _check(mark: str, children: set[int], threads: set[threading.Thread]) -> None:
    deadline_s = time.monotonic() + GRACE_S
    while True:
        pids = (_children() - children) | _marked(mark)
        left = [t.name for t in set(threading.enumerate()) - threads if t.is_alive()]
        if not pids and not left:
            return
        if time.monotonic() > deadline_s:
            break
        time.sleep(0.02)
    assert not pids, f"processes are left behind: {[_shown(pid) for pid in pids]}"
    assert not left, f"threads are left behind: {left}"


def _children() -> set[int]:
    """Child processes of all threads; those not waited for are among them."""
    found: set[int] = set()
    for thread in threads(PROC / "self"):
        try:
            found.update(map(int, (thread / "children").read_text().split()))
        except OSError:
            continue
    return found


def _marked(mark: str) -> set[int]:
    wanted, own = f"{MARK}={mark}".encode(), os.getpid()
    return {
        int(folder.name)
        for folder in processes()
        if int(folder.name) != own and wanted in _environment(folder)
    }


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _shown(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    return f"{pid} {b' '.join(words).decode(errors='replace')[:80]}".strip()


STOP_S = 3.0
"""How long a run may go on after it was told to stop."""
LONG_S = 6
AGES_S = 1_000_000
"""A long run in virtual time, which passes quickly."""


class LeftError(Exception):
    """What leaves the block of a run."""


class Safety(Subject):
    """Tests of faults and ends."""

    def long(self, drive: Drive) -> Job:
        """A run that is to be ended before its time."""
        seconds = AGES_S if self.backend().virtual_time else LONG_S
        one = stream(drive.facts, qd=4)
        interval_ns = SECOND_NS if self.backend().virtual_time else SECOND_NS // 10
        return self.job(
            drive.facts, one, run_ns=seconds * SECOND_NS, interval_ns=interval_ns
        )

    def test_damage_before_a_run_is_told(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            how = self.broken(drive)
            check_surfaced(self.run(drive, self.job(drive.facts)), how)

    def test_damage_during_a_run_is_told(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            asked = self.long(drive).model_copy(update={"run_ns": SECOND_NS})
            events: list[Event] = []
            how = ""
            with drive.start(asked) as execution:
                for event in execution:
                    events.append(event)
                    if isinstance(event, Progress) and not how:
                        how = self.broken(drive)
        assert how, "no interval was told before the end"
        check_surfaced(events, how)

    def broken(self, drive: Drive) -> str:
        """Damage the target, where that can be done."""
        how = self.damage(drive.facts)
        if how is None:
            pytest.skip("the target cannot be damaged; see damage()")
        return how

    def test_stop_ends_a_run_with_its_result(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            asked, stopped_s = self.long(drive), 0.0
            with drive.start(asked) as execution:
                for event in execution:
                    if isinstance(event, Progress) and not stopped_s:
                        execution.stop()
                        stopped_s = time.monotonic()
            took_s = time.monotonic() - stopped_s
        self._check_stopped(event, asked, took_s)

    def test_stop_from_another_thread(self, tmp_path: Path) -> None:
        """As a signal does it, while the next event is waited for."""
        if self.backend().virtual_time:
            pytest.skip("virtual time passes only while events are asked for")
        with self.drive(tmp_path) as drive:
            asked = self.long(drive)
            with drive.start(asked) as execution:
                timer, began_s = Timer(1.0, execution.stop), time.monotonic()
                timer.start()
                *_, event = execution
            took_s = time.monotonic() - began_s - 1.0
            timer.join()
        self._check_stopped(event, asked, took_s)

    def test_kill_ends_a_run_by_force(self, tmp_path: Path) -> None:
        """What it says at its end does not matter."""
        with self.drive(tmp_path) as drive:
            asked, killed_s = self.long(drive), 0.0
            with nothing_left(), drive.start(asked) as execution:
                for event in execution:
                    if isinstance(event, Progress) and not killed_s:
                        execution.kill()
                        killed_s = time.monotonic()
            took_s = time.monotonic() - killed_s
        assert took_s <= STOP_S, f"it went on for {took_s:.1f} s after kill()"

    def _check_stopped(self, last: Event | None, asked: Job, took_s: float) -> None:
        assert took_s <= STOP_S, f"it went on for {took_s:.1f} s after stop()"
        assert isinstance(last, Result), f"a stopped run ends with {described(last)}"
        assert last.stopped, "the Result does not say that the run was stopped"
        assert last.run_ns < (asked.run_ns or 0), "it says that it ran to its end"

    def test_leaving_early_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            asked = self.long(drive)
            with nothing_left(), drive.start(asked) as execution:
                next(event for event in execution if isinstance(event, Progress))

    def test_an_error_of_the_caller_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            asked = self.long(drive)
            with nothing_left(), pytest.raises(LeftError), drive.start(asked):
                raise LeftError

    def test_a_whole_run_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with nothing_left(), self.drive(tmp_path) as drive:
            self.run(drive, self.job(drive.facts))
