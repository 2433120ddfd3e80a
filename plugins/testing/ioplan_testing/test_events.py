"""Whether the figures of a run agree with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ioplan.job import Event, Job, Progress, Result
from ioplan_testing.checks import (
    check_consistent,
    check_histograms,
    check_order,
    check_sums,
    result_of,
)
from ioplan_testing.subject import Subject, stream


class Events(Subject):
    """Tests of what is told of one mixed run."""

    _mixed: tuple[Job, Sequence[Event]] | None = None

    def mixed(self, folder: Path) -> tuple[Job, Sequence[Event]]:
        """A run that went well, and its job; the same for all tests of a class."""
        # Its own: a class that inherits from another's tests has another backend.
        if "_mixed" not in vars(type(self)):
            type(self)._mixed = self._run_mixed(folder)
        assert self._mixed
        return self._mixed

    def _run_mixed(self, folder: Path) -> tuple[Job, Sequence[Event]]:
        with self.drive(folder) as drive:
            one = stream(drive.facts, read_percent=70, qd=4)
            asked = self.job(drive.facts, one, warmup_ns=self.times.warmup_ns)
            events = self.done(drive, asked)
        result_of(events)
        return asked, events

    def check_mixed(
        self, check: Callable[[Sequence[Event]], None], folder: Path
    ) -> None:
        """Once more if it fails: fio's figures of a moment are not all of one."""

        def measured(_: int) -> None:
            try:
                check(self.mixed(folder)[1])
            except AssertionError:
                del type(self)._mixed
                raise

        self.calmly(measured)

    def test_events_come_in_order(self, tmp_path: Path) -> None:
        asked, events = self.mixed(tmp_path)
        check_order(events, asked)

    def test_intervals_add_up_to_the_result(self, tmp_path: Path) -> None:
        check_sums(self.mixed(tmp_path)[1])

    def test_histograms_count_each_io(self, tmp_path: Path) -> None:
        self.check_mixed(_check_each_histogram, tmp_path)

    def test_figures_do_not_contradict(self, tmp_path: Path) -> None:
        def check(events: Sequence[Event]) -> None:
            check_consistent(events, self.mixed(tmp_path)[0])

        self.check_mixed(check, tmp_path)

    def test_events_are_json(self, tmp_path: Path) -> None:
        for event in self.mixed(tmp_path)[1]:
            text = event.model_dump_json()
            assert type(event).model_validate_json(text) == event

    def test_a_drive_takes_one_run_after_the_other(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            for _ in range(2):
                result_of(self.run(drive, self.job(drive.facts)))


def _check_each_histogram(events: Sequence[Event]) -> None:
    for event in events:
        warm = isinstance(event, Progress) and event.warmup
        if isinstance(event, Progress | Result) and not warm:
            check_histograms(event)
