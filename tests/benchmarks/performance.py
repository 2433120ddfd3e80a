"""Renews the rows of docs/performance.md: few that a user cares about.

    .venv/bin/python tests/benchmarks/performance.py SCRIPT [ARGUMENT …]

The script (`startup`, `engine_vs_fio` …) is run, and what it prints of the document's
rows takes their place. A new row is added by hand: the line that the script printed.
"""

import re
import subprocess
import sys
from pathlib import Path

from benchmark_row import FOLDER, Row, read
from msgspec.structs import replace

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs/performance.md"
BEGIN, END = "<!-- rows: begin -->\n", "<!-- rows: end -->"
HEAD = "| | figure | aim | held | made by | on |\n|---|---|---|---|---|---|\n"
MOST_ROWS = 25
NOTE = re.compile(r"^(\d+)\. (.+)$", re.M)


def main() -> int:
    """Run the script, write the document; the script's exit code."""
    words = [sys.executable, str(HERE / f"{sys.argv[1]}.py"), *sys.argv[2:]]
    rows = {row.what: row for row in rows_of(part())}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            row = read(line)
            if row and row.what in rows:
                rows[row.what] = row
    before, after = DOCUMENT.read_text().split(part())
    DOCUMENT.write_text(f"{before}{table([*rows.values()])}{after}")
    return process.returncode


def part() -> str:
    """The table of the document, with its machines."""
    return DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0]


def rows_of(text: str) -> list[Row]:
    """The rows of a table, as their scripts printed them. Raises ValueError."""
    machines = dict(NOTE.findall(text))
    rows = []
    for line in text.removeprefix(HEAD).partition("\n\n")[0].splitlines():
        row = read(line.replace("**NO**", "NO"))
        if row is None or row.machine not in machines:
            raise ValueError(f"no row of a benchmark: {line}")
        command = f"{FOLDER}/{row.command.strip('`')}"
        rows.append(replace(row, command=command, machine=machines[row.machine]))
    return rows


def table(rows: list[Row]) -> str:
    """All rows; the machines below, each once."""
    machines = list(dict.fromkeys(row.machine for row in rows))
    lines = [
        str(
            replace(
                row,
                held=row.held if row.held == "yes" else f"**{row.held}**",
                command=f"`{row.command.removeprefix(f'{FOLDER}/')}`",
                machine=str(machines.index(row.machine) + 1),
            )
        )
        for row in rows
    ]
    notes = [f"{number}. {name}" for number, name in enumerate(machines, start=1)]
    return HEAD + "\n".join([*lines, "", *notes, ""])


if __name__ == "__main__":
    sys.exit(main())
