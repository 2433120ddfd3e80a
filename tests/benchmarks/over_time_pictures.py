"""Makes the heat maps over time of docs/gallery.md again: on the page and in the terminal.

    .venv/bin/python tests/benchmarks/over_time_pictures.py [NAME…] [--work FOLDER]

The plans are those of the document, run on the simulated client drive; the terminal's
picture replaces the one below the page's. Sessions stay in FOLDER for the next call, and
`ioplan show --during` tells the figures of the text. Needs what `gallery.py` needs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gallery import DRIVES, FOLDER, ROOT, in_few_colours, ioplan

DOCUMENT = ROOT / "docs/gallery.md"
NAMES = ("Checkpoints", "Garbage")
COLUMNS = "90"


def main() -> None:
    """Run the plans that were asked for, and write their pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", default=NAMES)
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    os.environ["COLUMNS"] = COLUMNS
    with tempfile.TemporaryDirectory() as scratch:
        for name in asked.name:
            pictures(name, asked.work or Path(scratch))


def pictures(name: str, work: Path) -> None:
    """Both of one plan."""
    store = work / f"{name}.db"
    if not store.exists():
        file = work / f"{name}.ioplan"
        file.write_text(plan(name))
        sim = ("--backend", "sim", "--sim", DRIVES / "client.toml")
        done = ioplan("run", file, *sim, "--store", store, "-q")
        assert done.code == 0, done.err
    out = FOLDER / f"heatmap_{name.lower()}.png"
    chart = ("--chart", "latency", "-o", out, "--force", "--store", store)
    done = ioplan("report", "last", *chart)
    assert done.code == 0, done.err
    in_few_colours(out, ("--nofs", "48"))
    shown = ioplan("show", "last", "--store", store).out
    place = re.compile(rf"(\(gallery/{out.name}\)\n\n```text\n).*?(?=```)", re.S)
    text, found = place.subn(lambda at: at[1] + heat_map(shown), DOCUMENT.read_text())
    assert found == 1, name
    DOCUMENT.write_text(text)


def heat_map(shown: str) -> str:
    """The first of what is shown, with what its lines are."""
    drawn = re.search(
        r"^reader\.latency.*\n +(?:├|│).*(?:\n.+)*?\n +└.*\n.*\n", shown, re.M
    )
    lines = re.search(r"^lines: .*\n", shown, re.M)
    assert drawn and lines, shown
    return drawn[0] + lines[0]


def plan(name: str) -> str:
    """As the document has it."""
    found = re.search(rf'```ioplan\n(plan "{name}".*?)```', DOCUMENT.read_text(), re.S)
    assert found, name
    return found[1]


if __name__ == "__main__":
    main()
