"""What a figure needs of the drive's state, against what the account has of it.

Random writes run at the speed of erased blocks until these are used up, and at that of
a larger spare while blocks are unmapped: with a spare of 7 %, each further 0.2 % of the
capacity that holds nothing lowers the write amplification by 3 % (`wear.steady_waf`).
So a drive sustains a rate once its blocks are mapped but for `MOST_BLANK`, and it has
taken its capacity since they were erased; at random, once all but `MOST_PLAIN` of the
region were overwritten so: until then blocks in order are collected cheaply. A write
amplification that fits a stated spare shows the same. Independent draws leave e^-n of
the blocks unwritten after n passes: of an erased drive they need 6.2, of one written in
order 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ioplan.core.units import digits, without_zeros
from ioplan.drive_account import DriveAccount, Extent, Moved
from ioplan.job_stream import JobStream

MOST_BLANK = 0.002
"""The share of the blocks that may hold nothing."""
MOST_PLAIN = 0.05
"""The share of the blocks that may still lie in order: three passes of draws."""
ENOUGH = 0.95
"""Of a capacity, so that what a pass leaves out at the edges is no matter."""
COLLECTS = 1.02
"""A write amplification above it is that of garbage collection."""
MOST_CACHE = 0.3
"""The largest share of a capacity that caches take; QLC drives have such."""
MOST_SOFT = 0.05
MOST_UNREAD = 0.05
"""The least share of unwritten blocks that is said of reads."""
FAST = "the speed of its cache or of erased blocks"
UNREAD = "of the blocks it reads were never written"
SINCE = {"purge": " since the purge", "creation": " so far", "": " in known history"}


def but_lacking(lacks: str) -> str:
    """What follows `settled within 1 % over 5 values` where a figure is not borne."""
    return f", but {lacks}" if lacks.endswith(UNREAD) else f", with {lacks}: {FAST}"


class Standing(Struct, frozen=True):
    """What the account says for a figure, and what against it; each in a few words.

    What a figure `lacks` comes with more writes; what `limits` it is true of the drive
    as it is, and the figure is of that and not of a drive that is all written.
    """

    evidence: str
    lacks: str = ""
    limits: str = ""

    @property
    def doubt(self) -> str:
        return self.lacks or self.limits


def standing(
    account: DriveAccount,
    streams: Iterable[JobStream],
    waf: float | None = None,
    noun: str = "drive",
    fits: bool = False,
    own: float | None = None,
) -> Standing:
    """The account against the needs of the streams of a run.

    `waf` is the drive's write amplification, where it is known, and `fits` whether
    that is the one of its spare; `own` are the capacities that the run has written
    itself, where it is to become steady without a pause.
    """
    streams = tuple(streams)
    rule = _Rule(account, waf, noun, fits, own)
    writers = [one for one in streams if one.read_percent < 100]
    writers = [one for one in writers if one.trim_percent < 100]
    readers = [one for one in streams if one.read_percent and one.trim_percent < 100]
    lacks = rule.of_writes(writers) if writers else ""
    lacks = lacks or rule.of_reads(readers)
    return Standing(rule.evidence(), lacks, rule.limits(writers) if writers else "")


class _Rule(Struct, frozen=True):
    account: DriveAccount
    waf: float | None
    noun: str
    fits: bool
    own: float | None

    @property
    def when(self) -> str:
        return SINCE[self.account.since]

    def evidence(self) -> str:
        """`2.3 × capacity written, 100 % of it; WAF 2.9`."""
        drive = self.account.drive
        if not drive.passes and drive.blank >= 1:
            return f"nothing written{self.when}"
        share = f"{_percent(1 - drive.blank)} of it"
        text = f"{_times(drive.passes)} written{self.when}, {share}"
        text += f", {_times(drive.turns)} at random" * (drive.turns > 0)
        return text + (f"; WAF {digits(self.waf)}" if self.waf is not None else "")

    def of_writes(self, writers: Sequence[JobStream]) -> str:
        """What they lack, so that their rate lasts."""
        region, drive = self._region(writers), self.account.drive
        if self.account.since and region.blank > MOST_BLANK + self._trimmed(writers):
            is_part = abs(region.blank - drive.blank) > MOST_BLANK
            which = "region" if is_part else self.noun
            return (
                f"only {_percent(1 - region.blank)} of the {which} written{self.when}"
            )
        if self.fits:
            return ""
        if cached := self.in_cache(writers):
            return cached
        if drive.passes < ENOUGH:
            return f"only {_times(drive.passes)} written{self.when}"
        if all(one.pattern == "sequential" for one in writers):
            return ""
        if region.plain > MOST_PLAIN:
            share = _percent(1 - region.plain)
            return f"only {share} of its region overwritten at random"
        few = f"only {_times(drive.turns)} overwritten at random"
        return "" if drive.turns >= ENOUGH else few

    def in_cache(self, writers: Sequence[JobStream]) -> str:
        """A cache is empty again after a rest; what is written in place collects
        nothing, however much it takes."""
        is_random = any(one.pattern == "random" for one in writers)
        if self.waf is not None and is_random:
            taken = self.account.drive.turns if self.own is None else self.own
            if self.waf <= COLLECTS and taken < ENOUGH * (1 if self.own else 2):
                return f"hardly any garbage collected yet: WAF {digits(self.waf)}"
        elif self.own is not None and self.own < MOST_CACHE:
            return f"only {_times(self.own)} written since the last pause"
        return ""

    def _trimmed(self, writers: Sequence[JobStream]) -> float:
        """The share of blocks that their own trims leave without data."""
        return max(one.trim_percent / 100 for one in writers)

    def limits(self, writers: Sequence[JobStream]) -> str:
        """What else the drive would do if all of it were written."""
        drive, soft = self.account.drive, self.account.drive.soft
        if drive.blank > MOST_BLANK:
            share = _percent(drive.blank)
            if self.account.since:
                return f"{share} of the {self.noun} empty"
            return f"the history of {share} of the {self.noun} is unknown"
        length = sum(b - a for a, b in _union(writers))
        if length < ENOUGH * self.account.capacity_bytes:
            share = _percent(length / self.account.capacity_bytes)
            return f"writes to only {share} of the {self.noun}"
        if soft > MOST_SOFT:
            return f"{_percent(soft)} of its data compressible"
        return ""

    def of_reads(self, readers: Sequence[JobStream]) -> str:
        """What they read of blocks that hold nothing; unknown ones are seen on it."""
        readers = [one for one in readers if not self.account.may_hold(one)]
        if not readers or not self.account.since:
            return ""
        blank = max(self._region([one]).blank for one in readers)
        if blank < MOST_UNREAD:
            return ""
        return f"{_percent(blank)} {UNREAD}"

    def _region(self, streams: Sequence[JobStream]) -> Extent:
        """The mean of their regions, by length."""
        edges = [(one.region_start_bytes, one.region_end_bytes) for one in streams]
        length = sum(b - a for a, b in edges) or 1
        found = [((b - a) / length, self.account.part(a, b)) for a, b in edges]
        blank, soft, plain, turns, passes = (
            sum(share * getattr(part, name) for share, part in found)
            for name in ("blank", "soft", "plain", "turns", "passes")
        )
        return Extent(edges[-1][1], blank, soft, plain, turns, passes)


def _union(streams: Sequence[JobStream]) -> list[tuple[int, int]]:
    """Their regions, each place once."""
    made = list[tuple[int, int]]()
    edges = ((one.region_start_bytes, one.region_end_bytes) for one in streams)
    for edge in sorted(edges):
        joins = made and edge[0] <= made[-1][1]
        last = made.pop() if joins else edge
        made.append((last[0], max(last[1], edge[1])))
    return made


def _times(passes: float) -> str:
    return f"{without_zeros(digits(passes, 2))} × capacity"


def _percent(share: float) -> str:
    """Two digits; never 100 % of what is not all."""
    percent = 100 * share
    text = f"{percent:.2g}" if percent < 99 else f"{percent:.3g}"
    if percent < 100 - 100 * MOST_BLANK and float(text) >= 100:
        text = "99.5"
    return f"{text} %"


# How many passes a write needs.

MOST_PASSES = 200.0


def passes_needed(account: DriveAccount, streams: Sequence[JobStream]) -> float | None:
    """After how many passes the streams lack nothing on some drive; None where no
    number does it."""
    if not _lacks_after(account, streams, 0.0):
        return 0.0
    low, high = 0.0, 1.0
    while _lacks_after(account, streams, high):
        low, high = high, 2 * high
        if high > MOST_PASSES:
            return None
    for _ in range(12):
        middle = (low + high) / 2
        if _lacks_after(account, streams, middle):
            low = middle
        else:
            high = middle
    return high


def _lacks_after(
    account: DriveAccount, streams: Sequence[JobStream], passes: float
) -> str:
    return best_standing(after_passes(account, streams, passes), streams).lacks


def best_standing(account: DriveAccount, streams: Sequence[JobStream]) -> Standing:
    """On a drive that shows by its amplification that it collects garbage."""
    return standing(account, streams, fits=True)


def after_passes(
    account: DriveAccount, streams: Sequence[JobStream], passes: float
) -> DriveAccount:
    """With so many passes of each stream."""
    for one in streams:
        account = account.after(one, moved_by(one, passes * one.region_bytes))
    return account


def moved_by(stream: JobStream, moved_bytes: float) -> Moved:
    """So many bytes, by the shares of the stream's mix."""
    trimmed = moved_bytes * stream.trim_percent / 100
    read = (moved_bytes - trimmed) * stream.read_percent / 100
    return Moved(read, moved_bytes - trimmed - read, trimmed)
