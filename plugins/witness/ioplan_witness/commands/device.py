"""The commands `ioplan device …`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.json import encode

from ioplan.cli import data_out, opened, print_line
from ioplan.core import bytes_text, digits, iops_text, latency_text, time_text
from ioplan.runner import StampFile, file_facts
from ioplan_witness import device
from ioplan_witness.log import KINDS, Entries, columns, read_log, write_parquet

ROWS = 20
"""Lines of a course over time."""


def start(*, script: Path, output: Path, log: Path | None) -> int:
    """Start a device; it runs until it is stopped."""
    started = device.start(device.read_script(script), output, log)
    print_line(f"{started.disk}")
    print_line(f"log: {started.log}; end it: ioplan device stop {output}")
    return 0


def stop(*, folder: Path) -> int:
    """End a device."""
    _device(folder).stop()
    return 0


def cut(*, folder: Path) -> int:
    """Take away what is in the volatile cache, and note it for `verify`."""
    one = _device(folder)
    one.tell("cut")
    with one.disk.open("rb") as disk:
        StampFile(file_facts(one.disk, disk.fileno())).power_was_cut()
    return 0


def off(*, folder: Path) -> int:
    """Take its power: it loses its volatile cache, and answers no I/O.

    Whoever asks for it, as a run that cuts the power, notes it for `verify`.
    """
    _device(folder).tell("off")
    return 0


def on(*, folder: Path) -> int:
    """Give it its power back."""
    _device(folder).tell("on")
    return 0


def show_log(*, path: Path, parquet: Path | None, json: bool) -> int:
    """Print a log's summary, or write it as Parquet."""
    if path.is_dir():
        running = _device(path)
        if device.is_mounted(running.folder):
            running.tell("flush-log")
        path = running.log
    entries = read_log(path)
    if parquet:
        with opened(parquet) as out:
            write_parquet(entries, out)
    elif json:
        lists = {name: np.asarray(c).tolist() for name, c in columns(entries).items()}
        with data_out() as out:
            out.write(encode(lists) + b"\n")
    else:
        for line in summary(entries):
            print_line(line)
    return 0


def _device(folder: Path) -> device.Device:
    whole = folder.resolve()
    return device.Device(whole, device.usual_log(whole))


def summary(entries: Entries) -> list[str]:
    """By kind, and over time."""
    if not len(entries):
        return ["no I/O has arrived"]
    lines = ["kind         I/Os    mean size       p50       p99   depth   errors"]
    for number, kind in enumerate(KINDS):
        some = entries[entries["kind"] == number]
        if len(some):
            lines.append(_of_kind(kind, some))
    return [*lines, "", *over_time(entries)]


def _of_kind(kind: str, some: Entries) -> str:
    latencies_ns = some["done_ns"] - some["arrived_ns"]
    p50, p99 = np.percentile(latencies_ns, (50, 99))
    errors = int((some["errno"] > 0).sum())
    return (
        f"{kind:<8} {len(some):>8} {bytes_text(some['size'].mean()):>12} "
        f"{latency_text(p50):>9} {latency_text(p99):>9} "
        f"{digits(float(some['depth'].mean())):>7} {errors:>8}"
    )


def over_time(entries: Entries) -> list[str]:
    """Rate, place and depth in up to so many slices."""
    since_ns = entries["arrived_ns"] - entries["arrived_ns"][0]
    length_s = max(float(since_ns[-1]) / 1e9, 1e-3) / ROWS
    slices = np.minimum(since_ns / 1e9 / length_s, ROWS - 1).astype(int)
    lines = ["since          IOPS     offsets from …            to    depth"]
    for number in range(ROWS):
        some = entries[slices == number]
        if len(some):
            low, high = some["offset"].min(), (some["offset"] + some["size"]).max()
            iops = iops_text(len(some) / length_s)
            lines.append(
                f"{time_text(number * length_s):<9} {iops:>9} "
                f"{bytes_text(float(low)):>18} {bytes_text(float(high)):>13} "
                f"{digits(float(some['depth'].mean())):>8}"
            )
    return lines
