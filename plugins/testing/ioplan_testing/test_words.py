"""What a backend says of itself, and of jobs that it cannot run."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from ioplan.backends import (
    Availability,
    Backend,
    BackendError,
    Gap,
    JobStream,
    TargetFacts,
)
from ioplan.job import Job
from ioplan.language import SLOTS, VOCABULARY
from ioplan.runner import FEATURES, gaps_of
from ioplan.runner.guard import TargetError
from ioplan_testing.checks import check_refused, check_same
from ioplan_testing.subject import (
    INVALID,
    SHORT,
    Subject,
    feature_job,
    invalid_jobs,
    job,
    stream,
)
from ioplan_testing.test_safety import nothing_left

FIELDS = {
    *SLOTS,
    *("for", "warmup", "interval", "passes"),
    "replay",  # what a stream does, as its pattern
    "streams",  # the stream itself: there is one too many
}


class InventedStream(JobStream):
    """A stream with a clause that no backend can have heard of."""

    invented_ns: int = 0


class Words(Subject):
    """Tests of words."""

    def test_it_is_a_backend(self, tmp_path: Path) -> None:
        backend = self.backend()
        assert isinstance(backend, Backend), f"{backend!r} lacks a member of Backend"
        assert backend.name and isinstance(backend.virtual_time, bool)
        with self.drive(tmp_path) as drive:
            found = backend.availability(self.options)
            assert isinstance(drive.facts, TargetFacts)
            assert drive.facts.capacity_bytes >= drive.facts.block_bytes
        assert isinstance(found, Availability) and found.version

    def test_native_is_text(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            text = self.backend().native(self.job(drive.facts), self.options)
        assert isinstance(text, str) and text.strip(), "native() says nothing"

    def test_gaps_are_told_in_the_words_of_the_plan(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            asked = [feature_job(drive.facts, f, self.times) for f in FEATURES]
        backend = self.backend()
        for one in asked:
            gaps = backend.gaps(one, self.options)
            assert gaps == backend.gaps(one, self.options), "gaps() changes its mind"
            for gap in gaps:
                self._check(gap, one)

    def _check(self, gap: Gap, asked: Job) -> None:
        assert isinstance(gap, Gap), f"{gap!r} is no Gap"
        names = [one.name for one in asked.streams]
        assert gap.stream in names, f"the gap's stream {gap.stream!r} is not in {names}"
        assert gap.field in FIELDS, f"the gap's field {gap.field!r} is no clause"
        assert gap.reason, f"the gap in {gap.field} has no reason"

    def test_it_speaks_only_words_that_there_are(self) -> None:
        speaks = self.backend().speaks
        assert isinstance(speaks, frozenset), "speaks is a frozenset of words"
        assert speaks <= VOCABULARY, f"no words: {sorted(speaks - VOCABULARY)}"
        lacking = {"random", "size", "mix"} - speaks
        assert not lacking, f"without {sorted(lacking)} nothing can be run"

    def test_an_invented_clause_is_refused(self, tmp_path: Path) -> None:
        """What a backend has never heard of, it cannot do exactly."""
        with self.drive(tmp_path) as drive:
            usual = self.job(drive.facts)
        strange = InventedStream(**usual.streams[0].model_dump(), invented_ns=5_000_000)
        asked = usual.model_copy(update={"streams": (strange,)})
        assert gaps_of(self.backend(), usual, self.options) == []
        (gap,) = gaps_of(self.backend(), asked, self.options)
        assert (gap.stream, gap.field) == (strange.name, "invented_ns")
        assert not gap.instead, "nothing is done in place of what nobody knows"

    def test_longer_times_have_a_reason(self, tmp_path: Path) -> None:
        """`times` is for those that say that they cannot do short runs."""
        if self.times == SHORT:
            pytest.skip("the runs of the kit are as short as usual")
        with self.drive(tmp_path) as drive:
            short = job(drive.facts, warmup_ns=SHORT.warmup_ns)
        fields = {gap.field for gap in self.backend().gaps(short, self.options)}
        assert {"for", "warmup"} <= fields, "it takes short runs, but asks for others"

    @pytest.mark.parametrize("oddity", INVALID)
    def test_an_odd_job_is_a_failure(self, oddity: str, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive, nothing_left():
            odd = invalid_jobs(drive.facts, self.times)[oddity]
            with contextlib.suppress(BackendError):
                self.exactly(odd)
            check_refused(self.run(drive, odd))

    def test_a_read_only_job_cannot_write(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            before = self.content(drive.facts)
            writing = stream(drive.facts, read_percent=50)
            events = self.done(drive, self.job(drive.facts, writing, read_only=True))
            after = self.content(drive.facts)
        if before is not None and after is not None:
            check_same(before, after)
        check_refused(events)

    def test_reading_changes_nothing(self, tmp_path: Path) -> None:
        with self.drive(tmp_path) as drive:
            before = self.stored(drive)
            self.done(drive, self.job(drive.facts))
            check_same(before, self.stored(drive))

    def test_nothing_is_overwritten_without_leave(self, tmp_path: Path) -> None:
        """A target that the user did not name, and that ioplan did not make."""
        with self.drive(tmp_path) as drive:
            named = drive.facts
        request, foreign = self.request(tmp_path), tmp_path / "foreign"
        changes: dict[str, Any] = {
            "overwrite": (),
            "create_bytes": None,
            "writes": True,
        }
        if named.kind == "file":
            foreign.write_bytes(bytes(1 << 20))
            changes["path"] = str(foreign)
        elif not request.overwrite:
            pytest.skip("writing on this target needs no leave")
        with pytest.raises((TargetError, BackendError)) as refused:
            self.backend().open(request.model_copy(update=changes)).close()
        assert str(refused.value), "the refusal does not say why"
