"""Traces as text, a line for each I/O: of tools, and of published collections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from ioplan.trace.facts import TraceError
from ioplan.trace.pairs import Done
from ioplan.trace.prepared import DISCARD, FLUSH, READ, WRITE
from ioplan.trace.rows import (
    FUA,
    SECTOR,
    Found,
    Row,
    checked,
    direction,
    number,
    time_ns,
)

S_NS, MS_NS, US_NS = 10**9, 10**6, 10**3
EPOCH_NS = 10**12
"""Before the first line, which begins at 0, some I/Os were under way."""
COMMA = re.compile(r"\s*,\s*")
Parse = Callable[[str, Found], Iterator[Row | Done]]
"""The I/Os of one line, or what is complete. Raises TraceError without a place."""


class TextFormat(Struct, frozen=True):
    """A kind of lines, and what the first of the I/Os looks like.

    `events` are of the kernel: those of what was queued, and of what was issued; and
    those of what was complete, in the same order. It `answers` if each line says how
    long its I/O took. A line that begins with `heading`, in any case and with blanks or
    without, names the columns, or the format.
    """

    name: str
    first: re.Pattern[str]
    parse: Parse
    events: tuple[str, str] | None = None
    completions: tuple[str, str] = ("", "")
    answers: bool = False
    heading: str = ""

    def begins_with(self, line: str) -> bool:
        """Whether a file with this first line has the format."""
        plain = COMMA.sub(",", line)
        return self.is_heading(line) or self.first.match(plain) is not None

    def is_heading(self, line: str) -> bool:
        """Whether it names the columns; no I/O begins with such a word."""
        if not self.heading or line[0].isdigit():
            return False
        return "".join(line.lower().split()).startswith(self.heading)


def msr(line: str, found: Found) -> Iterator[Row]:
    """MSR Cambridge: `timestamp,host,disk,type,offset,size,response`; 100 ns, bytes."""
    stamp, host, disk, kind, offset, size, took = _fields(line, 7)
    where = number(offset), number(size), f"{host}.{disk}"
    at_ns, took_ns = number(stamp) * 100, number(took) * 100
    yield Row(at_ns, direction(kind), *where, response_ns=took_ns)


def alibaba(line: str, found: Found) -> Iterator[Row]:
    """Alibaba block traces: `device,opcode,offset,length,timestamp`; bytes, us."""
    device, kind, offset, size, stamp = _fields(line, 5)
    at_ns = number(stamp) * US_NS
    yield Row(at_ns, direction(kind), number(offset), number(size), device)


def tencent(line: str, found: Found) -> Iterator[Row]:
    """Tencent: `timestamp,offset,size,type,volume`; s, sectors, 0 for reads."""
    stamp, offset, size, kind, volume = _fields(line, 5)
    if kind not in ("0", "1"):
        raise TraceError(f"{kind!r} is neither 0 (read) nor 1 (write)")
    place, length = number(offset) * SECTOR, number(size) * SECTOR
    yield Row(number(stamp) * S_NS, (READ, WRITE)[int(kind)], place, length, volume)


def spc(line: str, found: Found) -> Iterator[Row]:
    """SPC: `ASU,LBA,size,opcode,timestamp`; sectors of 512 B, bytes, s."""
    unit, lba, size, kind, stamp, *_ = _fields(line, 5, more=True)
    at_ns = time_ns(stamp, S_NS)
    yield Row(at_ns, direction(kind), number(lba) * SECTOR, number(size), unit)


def mqsim(line: str, found: Found) -> Iterator[Row]:
    """MQSim: `arrival device sector sectors type`; ns, 0 writes and 1 reads."""
    stamp, device, sector, size, kind = _fields(line, 5, by=None)
    if kind not in ("0", "1"):
        raise TraceError(f"{kind!r} is neither 0 (write) nor 1 (read)")
    place, length = number(sector) * SECTOR, number(size) * SECTOR
    yield Row(number(stamp), (WRITE, READ)[int(kind)], place, length, device)


def hfplayer(line: str, found: Found) -> Iterator[Row]:
    """hfplayer's CSV: arrival and latency in us, sectors; `RD…` and `WR…`."""
    _, at_us, _, kind, _, _, _, unit, _, _, sector, size, _, _, _, took_us = _fields(
        line, 16
    )
    if kind[:2] not in ("RD", "WR"):
        raise TraceError(f"{kind!r} is neither RD nor WR")
    where = number(sector) * SECTOR, number(size) * SECTOR, unit
    at_ns, took_ns = time_ns(at_us, US_NS), time_ns(took_us, US_NS)
    yield Row(at_ns, direction(kind[0]), *where, response_ns=took_ns)


BIOSNOOP = re.compile(
    r"(?P<time>\d+\.\d+)\s.*\s(?P<disk>\S+)\s+(?P<rwbs>[A-Z]+)\s+(?P<sector>\d+)\s+"
    r"(?P<size>\d+)(?:\s+(?P<queued>\d+\.\d+))?\s+(?P<took>\d+\.\d+)\s*$"
)


def biosnoop(line: str, found: Found) -> Iterator[Row]:
    """bcc: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, blanks in COMM.

    The time is that of the completion, `LAT(ms)` what it took until then, `QUE(ms)`
    what it was queued before. `T` is a letter, or the kernel's letters.
    """
    event = BIOSNOOP.match(line)
    if event is None:
        raise TraceError("no line of biosnoop")
    took_ns = sum(time_ns(event[part] or "0", MS_NS) for part in ("queued", "took"))
    begun_ns = time_ns(event["time"], S_NS) + EPOCH_NS - took_ns
    place = number(event["sector"]) * SECTOR, number(event["size"])
    for row in rwbs(begun_ns, event["rwbs"], *place, event["disk"], found):
        yield row._replace(response_ns=took_ns)


def fio_v2(line: str, found: Found) -> Iterator[Row]:
    """fio's iolog 2: `file action [offset length]`; `wait` moves the time, in us."""
    yield from _fio(line.split(), None, found)


def fio_v3(line: str, found: Found) -> Iterator[Row]:
    """fio's iolog 3: `time file action [offset length]`; fio writes us."""
    stamp, *words = line.split()
    yield from _fio(words, number(stamp) * US_NS, found)


FIO_ACTIONS = {
    **{"read": READ, "write": WRITE, "trim": DISCARD},
    **dict.fromkeys(("sync", "datasync"), FLUSH),
}
FIO_OTHER = ("add", "open", "close")
FIO_WORD = rf"(?:{'|'.join((*FIO_ACTIONS, *FIO_OTHER, 'wait'))})(?: \d+ \d+)?\s*$"


def _fio(words: list[str], at_ns: int | None, found: Found) -> Iterator[Row]:
    if len(words) not in (2, 4):
        raise TraceError("a line of fio has a file, an action, and perhaps two numbers")
    file, action, *place = words
    if action == "wait":
        found.waited_ns += number(place[0]) * US_NS
        return
    if action in FIO_OTHER:
        found.left_out[f"lines '{action}'"] += 1
        return
    if action not in FIO_ACTIONS:
        raise TraceError(f"{action!r} is no action of fio's")
    offset, size = map(number, place or ("0", "0"))
    since_ns = found.waited_ns if at_ns is None else at_ns
    yield Row(since_ns, FIO_ACTIONS[action], offset, size, file)


BLKPARSE = re.compile(
    r"\s*(?P<device>\d+,\d+)\s+(?P<cpu>\d+)\s+\d+\s+(?P<time>\d+\.\d+)\s+\d+\s+"
    r"(?P<action>[A-Z]{1,2})\s+(?P<rwbs>[A-Z]+)"
    r"(?:\s+(?P<sector>\d+) \+ (?P<count>\d+))?"
)
SUMMARY = re.compile(
    r"CPU\s?\d* \(|Total \(|Throughput|Events|Reads |Writes |Read | IO |\s"
)


def blkparse(line: str, found: Found) -> Iterator[Row | Done]:
    """blkparse's default lines; of its events the queued ones, else the issued ones."""
    event = BLKPARSE.match(line)
    if event is None:
        if SUMMARY.match(line):
            found.left_out["lines of the summary"] += 1
            return
        raise TraceError("no line of blkparse")
    yield from _of_kernel(event, found)


FTRACE = re.compile(
    r"\s*.+-\d+\s+(\(.*?\)\s+)?\[\d+\]\s+(\S+\s+)?(?P<time>\d+\.\d+): "
    r"(?P<action>block_\w+): (?P<device>\d+,\d+) (?P<rwbs>[A-Z]+) "
    r"((\d+ )?\(.*?\) )?(?P<sector>\d+) \+ (?P<count>\d+)"
)
LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")


def ftrace(line: str, found: Found) -> Iterator[Row | Done]:
    """The kernel's trace_pipe; of its block events the queued ones, else the issued."""
    if lost := LOST.match(line):
        found.left_out["events that the kernel lost"] += int(lost[1])
        return
    event = FTRACE.match(line)
    if event is None:
        raise TraceError("no block event of the kernel")
    yield from _of_kernel(event, found)


KINDS = {"R": READ, "W": WRITE, "D": DISCARD}


def _of_kernel(event: re.Match[str], found: Found) -> Iterator[Row | Done]:
    if event["action"] not in (found.event, found.completion):
        found.left_out[f"events {event['action']}"] += 1
        return
    at_ns = time_ns(event["time"], S_NS)
    place = int(event["sector"] or 0) * SECTOR
    size = int(event["count"] or 0) * SECTOR
    if event["action"] == found.completion:
        kind = KINDS.get(event["rwbs"].removeprefix("F")[:1])
        yield Done(at_ns, place, size, event["device"], kind)
        return
    yield from rwbs(at_ns, event["rwbs"], place, size, event["device"], found)


def rwbs(
    at_ns: int, text: str, offset: int, size: int, volume: str, found: Found
) -> Iterator[Row]:
    """The kernel's letters: a flush before, what it does, FUA after."""
    flush = text.startswith("F")
    rest = text[flush:]
    if flush:
        yield Row(at_ns, FLUSH, 0, 0, volume)
    kind = KINDS.get(rest[:1])
    if kind is not None and (size or not flush):
        yield Row(at_ns, kind, offset, size, volume, FUA * ("F" in rest[1:]))
    elif not flush:
        found.left_out["events without data"] += 1


def _fields(
    line: str, count: int, by: str | None = ",", more: bool = False
) -> list[str]:
    words = [word.strip() for word in line.split(by)]
    if len(words) < count or (len(words) > count and not more):
        raise TraceError(f"{len(words)} fields, where there should be {count}")
    return words


MOST_LINE = 1 << 16
FORMATS = (
    TextFormat(
        *("fio iolog 2", re.compile(rf"\S+ {FIO_WORD}"), fio_v2),
        heading="fioversion2",
    ),
    TextFormat(
        *("fio iolog 3", re.compile(rf"\d+ \S+ {FIO_WORD}"), fio_v3),
        heading="fioversion3",
    ),
    TextFormat(
        *("hfplayer", re.compile(r"\d+,\d+(\.\d+)?,\d+,(RD|WR)"), hfplayer),
        answers=True,
        heading="#dump_offset",
    ),
    TextFormat("biosnoop", BIOSNOOP, biosnoop, answers=True, heading="time(s)comm"),
    TextFormat(
        *("MSR Cambridge", re.compile(r"\d{15,20},[^,]+,\d+,[A-Za-z]+,"), msr),
        answers=True,
        heading="timestamp,host",
    ),
    TextFormat(
        *("Alibaba block", re.compile(r"\d+,[RWrw],\d+,\d+,\d+\s*$"), alibaba),
        heading="device",
    ),
    TextFormat(
        *("Tencent block", re.compile(r"\d{10},\d+,\d+,[01],\d+\s*$"), tencent),
        heading="timestamp,offset",
    ),
    TextFormat(
        *("SPC", re.compile(r"\d+,\d+,\d+,[rRwW],\d+(\.\d*)?\s*(,|$)"), spc),
        heading="asu,lba",
    ),
    TextFormat("MQSim", re.compile(r"\d+\s+\d+\s+\d+\s+\d+\s+[01]\s*$"), mqsim),
    TextFormat("blkparse", BLKPARSE, blkparse, ("Q", "D"), ("C", "C")),
    TextFormat(
        *("ftrace", re.compile(rf"# tracer: |{LOST.pattern}|{FTRACE.pattern}"), ftrace),
        events=("block_bio_queue", "block_rq_issue"),
        completions=("block_bio_complete", "block_rq_complete"),
    ),
)


def text_rows(format: TextFormat, path: Path, found: Found) -> Iterator[Row | Done]:
    """All I/Os of a file, a line at a time. Raises TraceError with the line."""
    found.answers = format.answers
    if format.events:
        _choose_events(format, path, found)
    with _opened(path) as file:
        for place, line in enumerate(iter(lambda: file.readline(MOST_LINE), ""), 1):
            if len(line) == MOST_LINE:
                raise TraceError(f"line {place} is longer than {MOST_LINE} characters")
            if not line.strip():
                continue
            if format.is_heading(line):
                found.left_out["headings"] += 1
                continue
            if line.startswith("#"):
                found.left_out["comments"] += 1
                continue
            try:
                for one in format.parse(line, found):
                    yield checked(one) if isinstance(one, Row) else one
            except (TraceError, ValueError) as error:
                end = "" if line.endswith("\n") else "; the file is cut off there"
                shown = line.strip()[:60]
                raise TraceError(f"line {place}: {error}: {shown!r}{end}") from None


def _opened(path: Path) -> TextIO:
    """Text, perhaps with a mark of its byte order."""
    return path.open(encoding="utf-8-sig", errors="replace")


LOOKED_AT = 10_000
"""Lines that tell which events a trace has."""


def _choose_events(format: TextFormat, path: Path, found: Found) -> None:
    """Whether they show when I/Os were queued, or only when they were issued; and which
    of them, when they were complete: those of requests, if there are no other."""
    with _opened(path) as file:
        events = map(format.first.match, islice(file, LOOKED_AT))
        seen = {event["action"] for event in events if event}
    assert format.events
    found.event = format.events[format.events[0] not in seen]
    found.completion = format.completions[format.completions[0] not in seen]
    found.answers = found.pairs = found.completion in seen
