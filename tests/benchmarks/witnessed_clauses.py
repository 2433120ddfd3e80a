"""Makes docs/witnessed.md: what each backend did with the suite of clauses.

    .venv/bin/python tests/benchmarks/witnessed_clauses.py [BACKEND[:NAME=VALUE]…]

Without words: io_uring and fio. `fio:path=/opt/fio/fio` is another version of it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from command import Done, ioplan  # noqa: E402

SUITE = "witness/clauses"
DOCUMENT = ROOT / "docs" / "witnessed.md"
HEAD = """# Witnessed clauses

What `ioplan witness witness/clauses` saw of each backend, on the [test device](witness.md):
whether what arrived is what the clause asks. "differs" is followed by what did; behind it stands what
the backend had declared before (`ioplan plan --backend`), so that a plan with the clause is refused, or
needs `--allow`. "–" is a run that was refused. The simulated drive has no I/O that a device could
see. `tests/benchmarks/witnessed_clauses.py` makes this page.

"""


class Column(NamedTuple):
    """One backend: its name with the version, and a cell for each test."""

    name: str
    cells: dict[str, str]


def witnessed(word: str) -> Column:
    """Run the suite on a backend."""
    backend, _, option = word.partition(":")
    words = ["--backend", backend, *(["--option", option] if option else [])]
    fits = declared(words)
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines(ioplan("witness", SUITE, *words, "--json")):
        if "verdict" in line:
            found.setdefault(line["test"], []).append(line)
    name = f"{backend} {version(words)}"
    return Column(name, {test: cell(found.get(test, []), fits[test]) for test in fits})


def lines(done: Done) -> list[dict[str, Any]]:
    """The JSON of each line; diagnostics go elsewhere."""
    return [json.loads(line) for line in done.out.splitlines()]


def declared(words: list[str]) -> dict[str, str]:
    """What the backend says of each test before it runs."""
    text = ioplan("plan", SUITE, *words, "--capacity", "64MiB", "--json").out
    found, _ = json.JSONDecoder().raw_decode(text)
    return {one["test"]: one["fit"] for one in found["fit"]["tests"]}


def version(words: list[str]) -> str:
    """As the first line of the witness names it."""
    text = ioplan("witness", SUITE, *words, "--test", "W01*").out
    return text.split("\n", 1)[0].split()[-1]


def cell(judged: list[dict[str, Any]], support: str) -> str:
    """What was seen, and where it differs what had been declared."""
    if not judged:
        return f"– ({support})"
    differ = sorted({one["name"] for one in judged if one["verdict"] == "differs"})
    if differ:
        return f"differs: {', '.join(differ)} ({support})"
    seen = sum(one["verdict"] == "as asked" for one in judged)
    return f"as asked ({seen})"


def page(columns: list[Column]) -> str:
    """The document."""
    rows = [["clause", *(one.name for one in columns)], ["---"] * (len(columns) + 1)]
    for test in columns[0].cells:
        title = test.partition(" ")[2]
        rows.append([title, *(one.cells[test] for one in columns)])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f'{HEAD}{table}\nIn brackets behind "as asked": of how many figures.\n'


def main() -> int:
    """Write the document; what is kept of it stays out of the user's state."""
    os.environ["XDG_STATE_HOME"] = mkdtemp()
    DOCUMENT.write_text(page([witnessed(one) for one in sys.argv[1:] or BOTH]))
    return 0


BOTH = ("io_uring", "fio")


if __name__ == "__main__":
    raise SystemExit(main())
