"""`ioplan trace record`: the I/O of a block device as a trace."""

from __future__ import annotations

import time
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.cli.commands.trace.traces import left_out, replaced, span, trace_faults
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD
from ioplan.core.text import counted
from ioplan.language.quantity import QuantityError, parse
from ioplan.runner.execute.interrupt import Interrupt
from ioplan.trace.convert import convert
from ioplan.trace.facts import TraceError
from ioplan.trace.record import capture, lies_on


def record_trace(
    *, device: Path, output: Path, lasting: str | None, force: bool
) -> int:
    """Record until Ctrl-C, or for a time, and write a trace file."""
    most_s = inf if lasting is None else _seconds(lasting)
    new = replaced(output, force)
    with (
        trace_faults(device),
        new as made,
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
        found = parse(text)
    except (ValueError, QuantityError):
        found = None
    if found is None or found.kind != "time" or not found.value:
        raise UsageError(f"{text!r} is no time, as 10s is")
    return float(found.value) / 1e9
