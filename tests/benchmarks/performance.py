"""Gathers the rows of the benchmarks into docs/performance.md.

    .venv/bin/python tests/benchmarks/performance.py [SCRIPT [ARGUMENT …]]

With a script (`startup`, `engine_vs_fio` …) it is run, and the rows that it prints take
the place of its rows of the same names in `rows/SCRIPT.md`; all others stay. The document
is then written from all saved rows. What imports `tell` is such a script.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmark_row import Row, read
from msgspec.structs import replace

HERE = Path(__file__).parent
ROWS = HERE / "rows"
DOCUMENT = HERE.parents[1] / "docs/performance.md"
BEGIN, END = "<!-- rows: begin -->\n", "<!-- rows: end -->"
TELLS = "from benchmark_row import tell"
HEAD = "| | figure | aim | held | made by | on |\n|---|---|---|---|---|---|\n"


def main() -> int:
    """Run a script if one is named, write the document; the script's exit code."""
    code = renew(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else 0
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}{table()}{END}{after}")
    return code


def renew(script: str, arguments: list[str]) -> int:
    """Run it, show what it prints, and keep its rows."""
    if script not in scripts():
        raise SystemExit(f"{script}: not one of {', '.join(scripts())}")
    words = [sys.executable, str(HERE / f"{script}.py"), *arguments]
    rows = {row.what: row for row in saved(script)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            if row := read(line):
                rows[row.what] = row
    if rows:
        ROWS.mkdir(exist_ok=True)
        text = "".join(f"{row}\n" for row in rows.values())
        (ROWS / f"{script}.md").write_text(text)
    return process.returncode


def scripts() -> list[str]:
    """The benchmarks that print rows, in the order of the document."""
    return sorted(file.stem for file in HERE.glob("*.py") if TELLS in lines_of(file))


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


def saved(script: str) -> list[Row]:
    """The rows that it has printed. Raises ValueError for a line that is none."""
    path = ROWS / f"{script}.md"
    lines = lines_of(path) if path.exists() else []
    rows = [row for line in lines if (row := read(line))]
    if len(rows) != len(lines):
        raise ValueError(f"{path}: a line is no row")
    return rows


def table() -> str:
    """All rows; the machines below, each once."""
    rows = [row for script in scripts() for row in saved(script)]
    machines = list(dict.fromkeys(row.machine for row in rows))
    lines = [
        str(
            replace(
                row,
                held=row.held if row.held == "yes" else f"**{row.held}**",
                command=f"`{row.command.removeprefix('tests/benchmarks/')}`",
                machine=str(machines.index(row.machine) + 1),
            )
        )
        for row in rows
    ]
    notes = [f"{number}. {name}" for number, name in enumerate(machines, start=1)]
    return HEAD + "\n".join([*lines, "", *notes, ""])


if __name__ == "__main__":
    sys.exit(main())
