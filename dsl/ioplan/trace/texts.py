"""Traces as text, a line for each I/O: of tools, and of published collections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ioplan.trace.facts import TraceError
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
Parse = Callable[[str, Found], Iterator[Row]]
"""The I/Os of one line. Raises TraceError without a place."""


class TextFormat(Struct, frozen=True):
    """A kind of lines, and what the first of them look like.

    `events` are of the kernel: those of what was queued, and of what was issued.
    """

    name: str
    first: re.Pattern[str]
    parse: Parse
    heads: int = 0
    events: tuple[str, str] | None = None


def msr(line: str, found: Found) -> Iterator[Row]:
    """MSR Cambridge: `timestamp,host,disk,type,offset,size,response`; 100 ns, bytes."""
    stamp, host, disk, kind, offset, size, _ = _fields(line, 7)
    volume = f"{host}.{disk}"
    yield Row(
        number(stamp) * 100, direction(kind), number(offset), number(size), volume
    )


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


def biosnoop(line: str, found: Found) -> Iterator[Row]:
    """bcc: `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`, with blanks in COMM."""
    words = line.split()
    if len(words) < 8:
        raise TraceError(f"{len(words)} fields, where biosnoop has 8")
    disk, kind, sector, size = words[-5:-1]
    at_ns = time_ns(words[0], S_NS)
    yield Row(at_ns, direction(kind), number(sector) * SECTOR, number(size), disk)


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


def blkparse(line: str, found: Found) -> Iterator[Row]:
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
    r"(\d+ \(.*?\) )?(?P<sector>\d+) \+ (?P<count>\d+)"
)
LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")


def ftrace(line: str, found: Found) -> Iterator[Row]:
    """The kernel's trace_pipe; of its block events the queued ones, else the issued."""
    if line.startswith("#"):
        return
    if lost := LOST.match(line):
        found.left_out["events that the kernel lost"] += int(lost[1])
        return
    event = FTRACE.match(line)
    if event is None:
        raise TraceError("no block event of the kernel")
    yield from _of_kernel(event, found)


def _of_kernel(event: re.Match[str], found: Found) -> Iterator[Row]:
    if event["action"] != found.event:
        found.left_out[f"events {event['action']}"] += 1
        return
    at_ns = time_ns(event["time"], S_NS)
    place = int(event["sector"] or 0) * SECTOR
    size = int(event["count"] or 0) * SECTOR
    yield from rwbs(at_ns, event["rwbs"], place, size, event["device"], found)


def rwbs(
    at_ns: int, text: str, offset: int, size: int, volume: str, found: Found
) -> Iterator[Row]:
    """The kernel's letters: a flush before, what it does, FUA after."""
    flush = text.startswith("F")
    rest = text[flush:]
    if flush:
        yield Row(at_ns, FLUSH, 0, 0, volume)
    kinds = {"R": READ, "W": WRITE, "D": DISCARD}
    kind = kinds.get(rest[:1])
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


FORMATS = (
    TextFormat("fio iolog 2", re.compile(r"fio version 2 iolog"), fio_v2, heads=1),
    TextFormat("fio iolog 3", re.compile(r"fio version 3 iolog"), fio_v3, heads=1),
    TextFormat("biosnoop", re.compile(r"TIME\(s\)\s+COMM"), biosnoop, heads=1),
    TextFormat("MSR Cambridge", re.compile(r"\d{15,20},[^,]+,\d+,[A-Za-z]+,"), msr),
    TextFormat("Alibaba block", re.compile(r"\d+,[RWrw],\d+,\d+,\d+\s*$"), alibaba),
    TextFormat("Tencent block", re.compile(r"\d{10},\d+,\d+,[01],\d+\s*$"), tencent),
    TextFormat("SPC", re.compile(r"\d+,\d+,\d+,[rRwW],\d+(\.\d*)?\s*(,|$)"), spc),
    TextFormat("MQSim", re.compile(r"\d+\s+\d+\s+\d+\s+\d+\s+[01]\s*$"), mqsim),
    TextFormat("blkparse", BLKPARSE, blkparse, events=("Q", "D")),
    TextFormat(
        *("ftrace", re.compile(rf"# tracer: |{FTRACE.pattern}"), ftrace),
        events=("block_bio_queue", "block_rq_issue"),
    ),
)


def text_rows(format: TextFormat, path: Path, found: Found) -> Iterator[Row]:
    """All I/Os of a file, a line at a time. Raises TraceError with the line."""
    if format.events:
        found.event = _event(path, format.first, *format.events)
    with path.open(encoding="utf-8", errors="replace") as file:
        for place, line in enumerate(file, start=1):
            if place <= format.heads or not line.strip():
                continue
            try:
                yield from map(checked, format.parse(line, found))
            except (TraceError, ValueError) as error:
                end = "" if line.endswith("\n") else "; the file is cut off there"
                shown = line.strip()[:60]
                raise TraceError(f"line {place}: {error}: {shown!r}{end}") from None


LOOKED_AT = 10_000
"""Lines that tell which events a trace has."""


def _event(path: Path, line: re.Pattern[str], queued: str, issued: str) -> str:
    """Whether its events show when I/Os were queued, or only when they were issued."""
    with path.open(encoding="utf-8", errors="replace") as file:
        events = map(line.match, islice(file, LOOKED_AT))
        return queued if any(e and e["action"] == queued for e in events) else issued
