"""`ioplan trace …`: recorded I/O, looked at, converted and cut."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD
from ioplan.core.text import counted
from ioplan.core.units import (
    bandwidth_text,
    bars,
    bytes_text,
    digits,
    iops_text,
    latency_text,
    time_text,
)
from ioplan.job import SECOND_NS
from ioplan.language.quantity import QuantityError, parse_quantity, size_text
from ioplan.runner.execute.interrupt import Interrupt
from ioplan.runner.guard.output import output_path
from ioplan.trace.convert import convert, cut, source_of
from ioplan.trace.facts import TraceError
from ioplan.trace.prepared import Prepared
from ioplan.trace.record import capture, lies_on
from ioplan.trace.rows import Found
from ioplan.trace.summary import STREAMS, TraceSummary, summary
from ioplan.trace.survey import survey

MOST_SIZES = 6
KINDS = (
    ("read", "reads"),
    ("write", "writes"),
    ("flush", "flushes"),
    ("discard", "discards"),
)


def info(*, path: Path, volume: str | None) -> int:
    """Print what is in a trace."""
    with trace_faults(path), TemporaryDirectory() as folder:
        name = source_of(path).name
        prepared, found = prepared_trace(path, Path(folder), volume)
        lines = [*_lines(name, summary(prepared)), *left_out(found)]
    for line in lines:
        print_line(line)
    return HELD


def convert_trace(*, path: Path, output: Path, volume: str | None, force: bool) -> int:
    """Write a trace file of any trace."""
    with output_path(output, force=force) as made, trace_faults(path):
        header, found = convert(path, made, volume)
    took = span(header.span_ns)
    print_line(f"{output}: {counted(header.count, 'I/O')} in {took}")
    for line in left_out(found):
        print_line(line)
    return HELD


def cut_trace(
    *, path: Path, part: str, output: Path, volume: str | None, force: bool
) -> int:
    """Write a part of a trace."""
    from_ns, to_ns = _ends(part)
    new = output_path(output, force=force)
    with new as made, trace_faults(path), TemporaryDirectory() as folder:
        prepared, _ = prepared_trace(path, Path(folder), volume)
        header = cut(prepared, from_ns, to_ns, made)
    took = span(header.span_ns)
    print_line(f"{output}: {counted(header.count, 'I/O')} in {took}")
    return HELD


@contextmanager
def trace_faults(path: Path) -> Iterator[None]:
    """A broken trace, or none, in the user's words."""
    try:
        yield
    except TraceError as error:
        raise UsageError(f"{path}: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def prepared_trace(
    path: Path, folder: Path, volume: str | None
) -> tuple[Prepared, Found | None]:
    """The trace as a trace file, which it may be already."""
    if source_of(path).rows is None:
        survey(path)
        return Prepared.open(path), None
    made = folder / "made.iotrace"
    _, found = convert(path, made, volume)
    return Prepared.open(made), found


def _ends(part: str) -> tuple[int, int]:
    """`10min..20min` in nanoseconds."""
    words = part.split("..")
    try:
        first, last = (parse_quantity(word.strip()) for word in words)
    except (ValueError, QuantityError):
        raise UsageError(
            f"{part!r} is no part of a trace, as 10min..20min is"
        ) from None
    if {first.kind, last.kind} != {"time"} or first.value >= last.value:
        raise UsageError(f"{part!r} is no part of a trace, as 10min..20min is")
    return round(first.value), round(last.value)


def span(span_ns: int) -> str:
    """A time from the first I/O to the last."""
    return time_text(span_ns / 1e9) if span_ns >= SECOND_NS else latency_text(span_ns)


def _lines(name: str, found: TraceSummary) -> Iterator[str]:
    span_s = found.span_ns / 1e9
    yield f"{name}: {counted(found.ios, 'I/O')} in {span(found.span_ns)}"
    if span_s:
        # the last I/O ends the time, and is not within it
        within = (found.ios - 1) / found.ios
        mean = f"{iops_text(within * found.ios / span_s)} IOPS"
        rate = bandwidth_text(within * found.moved_bytes / span_s)
        peak = f"; highest second {iops_text(found.peak_iops)} IOPS" * (span_s >= 1)
        yield f"rate        {mean}, {rate}{peak}"
        yield f"            |{bars(found.rates)}|"
    kinds = zip(KINDS, found.kinds, strict=True)
    told = ", ".join(f"{n} {name[n > 1]}" for name, n in kinds if n)
    yield f"kinds       {told}; {digits(100 * found.read_share)} % reads"
    total = max(1, found.sizes.total())
    most = found.sizes.most_common(MOST_SIZES)
    sizes = ", ".join(f"{size_text(s)} {digits(100 * n / total)} %" for s, n in most)
    rest = len(found.sizes) - len(most)
    yield f"sizes       {sizes}" + (f", {rest} more" if rest else "")
    touched, end = bytes_text(found.touched_bytes), bytes_text(found.end_bytes)
    yield f"places      up to {end}, {touched} touched (in units of 1 MiB)"
    hot = f"{digits(100 * found.hot_share)} % begin in the hottest tenth of these"
    yield f"locality    {hot}"
    sequential = digits(100 * found.sequential_share)
    yield f"sequential  {sequential} % begin where one of the {STREAMS} before ended"
    yield (
        f"arrivals    variation {digits(found.gap_variation)} "
        "(0 fixed, 1 Poisson, more: bursts)"
    )
    yield from _outstanding(found)


def _outstanding(found: TraceSummary) -> Iterator[str]:
    many = found.outstanding
    if many is None or many.unknown == found.ios:
        yield "outstanding not known: no completion is in it"
        return
    left = f"; of {counted(many.unknown, 'I/O')} not known" if many.unknown else ""
    yield f"outstanding {digits(many.mean)} on average, at most {many.most}{left}"
    yield f"            |{bars(many.along)}|"


def left_out(found: Found | None) -> Iterator[str]:
    """What is not an I/O of it, each with its number."""
    if found is None:
        return
    for reason, count in sorted(found.left_out.items()):
        yield f"left out: {reason}: {count}"
    if found.backwards:
        yield f"sorted: {found.backwards} I/Os were earlier than one before them"


# `ioplan trace record`: the I/O of a block device as a trace.


def record_trace(
    *, device: Path, output: Path, lasting: str | None, force: bool
) -> int:
    """Record until Ctrl-C, or for a time, and write a trace file."""
    most_s = inf if lasting is None else _seconds(lasting)
    with (
        output_path(output, force=force) as made,
        trace_faults(device),
        TemporaryDirectory(dir=output.parent) as folder,
    ):
        if device.is_block_device() and lies_on(output.parent, device):
            raise TraceError(
                f"{output} lies on it, so that the trace would record itself"
            )
        text = Path(folder) / "events"
        print_line(f"records {device}, until {lasting or 'Ctrl-C'}")
        end_s = time.monotonic() + most_s
        with text.open("wb") as file, Interrupt() as stop:
            capture(device, file, lambda: stop.signals > 0 or time.monotonic() > end_s)
        if not text.stat().st_size:
            raise TraceError("nothing was asked of it meanwhile")
        header, found = convert(text, made)
    print_line(f"{output}: {counted(header.count, 'I/O')} in {span(header.span_ns)}")
    for line in left_out(found):
        print_line(line)
    return HELD


def _seconds(text: str) -> float:
    try:
        found = parse_quantity(text)
    except (ValueError, QuantityError):
        found = None
    if found is None or found.kind != "time" or not found.value:
        raise UsageError(f"{text!r} is no time, as 10s is")
    return float(found.value) / 1e9
