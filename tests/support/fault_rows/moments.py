"""What `status` says again and again, beside what the database counts.

A count is taken before and after each call, so that what arrives meanwhile is no
difference.
"""

from __future__ import annotations

import re
import time
from threading import Event, Thread
from types import TracebackType
from typing import Self

import psycopg
from msgspec import Struct
from netlab import NetLab

COUNT = "SELECT count(*) FROM run WHERE session LIKE %s"
STORED = re.compile(r"(\d+) of (\d+) runs stored in \S+?(: .*)?$", re.MULTILINE)
PAUSE_S = 0.5
AWAY = (None, None)


class Moment(Struct, frozen=True):
    """One call of `status`; None for a database that does not answer."""

    counted: tuple[int | None, int | None]
    stored: int | None
    runs: int
    why: str
    text: str

    @property
    def is_equal(self) -> bool:
        """Whether it said what the database had, before or after or in between."""
        known = [one for one in self.counted if one is not None]
        return bool(known) and self.is_within(min(known), max(known))

    def is_within(self, least: int, most: int) -> bool:
        return self.stored is not None and least <= self.stored <= most

    @property
    def says_why(self) -> bool:
        """Whether it said that the database, or what leads there, does not answer, of
        which there is nothing to say before the first run."""
        is_error = self.stored is None and "error: " in self.text
        return bool(self.why) or is_error or (self.counted, self.runs) == (AWAY, 0)

    def is_complete(self, runs: int) -> bool:
        """Whether all was there when it was asked; with those that failed it is more."""
        return self.is_equal and self.stored == self.runs >= runs


class Moments:
    """Asks while the block runs, once a job is known."""

    def __init__(self, lab: NetLab) -> None:
        self.lab, self.job, self.found = lab, "", list[Moment]()
        self._ended = Event()
        self._thread = Thread(target=self._go)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _go(self) -> None:
        while not self._ended.wait(PAUSE_S):
            if self.job:
                self.found.append(self.look())

    def look(self) -> Moment:
        """Ask once."""
        before = self.count()
        done = self.lab.coordinator.ioplan("status", self.job)
        text = done.stdout + done.stderr
        said = STORED.search(text)
        stored, runs = (int(said[1]), int(said[2])) if said else (None, 0)
        why = (said[3] or "") if said else ""
        return Moment((before, self.count()), stored, runs, why, text)

    def count(self) -> int | None:
        """Of the job's runs in the database; None where it does not answer."""
        assert self.lab.database
        address = self.lab.database.local
        try:
            with psycopg.connect(address, connect_timeout=5) as there:
                row = there.execute(COUNT, (f"{self.job}%",)).fetchone()
        except psycopg.Error:
            return None
        return int(row[0]) if row else None

    def until_complete(self, runs: int, seconds: float) -> None:
        """Wait until `status` says that all is there. Raises AssertionError."""
        deadline_s = time.monotonic() + seconds
        while not (self.found and self.found[-1].is_complete(runs)):
            last = self.found[-1].text if self.found else ""
            assert time.monotonic() < deadline_s, last
            time.sleep(0.1)

    @property
    def wrong(self) -> list[Moment]:
        """Those that neither said the count, nor why they cannot."""
        return [one for one in self.found if not (one.is_equal or one.says_why)]

    def __str__(self) -> str:
        equal = sum(one.is_equal for one in self.found)
        away = len(self.found) - equal - len(self.wrong)
        return f"{equal} of {equal + len(self.wrong)}" + f", {away} away" * bool(away)
