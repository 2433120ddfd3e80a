"""The row that a benchmark prints, and `performance.py` gathers.

    tell("`ioplan --help`, CPU time", "2.6 starts of Python", "at most 3", held=True)

A row is a line of a Markdown table, with the command that made it and the machine.
"""

import os
import platform
import re
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple

COLUMNS = ("what", "figure", "aim", "held", "command", "machine")
FOLDER = "tests/benchmarks"
BUSY = 0.5
"""A load of so much of each CPU, when the benchmark begins, makes a machine a busy one."""
_LOAD = os.getloadavg()[0]


class Row(Struct, frozen=True):
    """One figure beside its aim. A ratio of one run, or a bound that any machine can hold."""

    what: str
    figure: str
    aim: str
    held: str
    command: str
    machine: str

    def __str__(self) -> str:
        return f"| {' | '.join(astuple(self))} |"


def tell(what: str, figure: str, aim: str, *, held: bool) -> None:
    """Print the row. Raises ValueError if a part has no text, or a "|"."""
    row = Row(what, figure, aim, "yes" if held else "NO", command(sys.argv), machine())
    if read(str(row)) != row:
        raise ValueError(f"no row of a table: {row}")
    print(row, flush=True)


def read(line: str) -> Row | None:
    """The row that a line is; None if it is something else."""
    if not re.fullmatch(r"\|( [^|]*\S \|)+", line := line.strip()):
        return None
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    row = Row(*cells) if len(cells) == len(COLUMNS) else None
    return row if row and row.held in {"yes", "NO"} else None


def command(words: list[str]) -> str:
    """As it can be typed elsewhere: paths of this machine are left out."""
    shown = [
        re.sub(r"^(--[\w-]+=)?/(?!dev/zero).*", r"\1PATH", word) for word in words[1:]
    ]
    return " ".join([f"{FOLDER}/{Path(words[0]).name}", *shown])


def machine() -> str:
    """Processor, CPUs, kernel, Python; and whether others were at work on it."""
    facts = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.+)", facts, re.M)
    name = " ".join(model[1].split()) if model else platform.machine()
    cpus = os.cpu_count() or 1
    virtual = ["virtual"] if re.search(r"\bhypervisor\b", facts) else []
    release = ".".join(platform.release().split(".")[:2])
    load = "busy" if BUSY * cpus < _LOAD else "idle"
    parts = [name, f"{cpus} CPUs", *virtual, f"Linux {release}"]
    return ", ".join([*parts, f"Python {platform.python_version()}", load])
