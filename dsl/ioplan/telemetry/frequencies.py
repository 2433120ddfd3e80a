"""The frequency of each CPU."""

from __future__ import annotations

from pathlib import Path

from ioplan.telemetry.tree import Tree, raw

FREQUENCY_FILES = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"


def frequency_files(tree: Tree) -> list[Path]:
    """A file for each CPU, in order; none in most virtual machines."""
    return tree.all(FREQUENCY_FILES)


def frequencies_mhz(files: list[Path]) -> tuple[float, ...]:
    """What they say now; a CPU that says nothing makes all of them worthless."""
    texts = [raw(file).strip() for file in files]
    if not all(text.isdigit() for text in texts):
        return ()
    return tuple(int(text) / 1000 for text in texts)
