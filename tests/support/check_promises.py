"""Holds tests/promises.toml against the documents and the tests: `make promises`.

    python tests/support/check_promises.py [FOLDER]

A row names a sentence of a document and how it is tried; a test names the rows that it
tries: `@pytest.mark.promise("safety.word", …)`.
"""

import re
import sys
import tomllib
from difflib import get_close_matches
from pathlib import Path

TABLE = "tests/promises.toml"
KEYS = {"sentence", "document", "tried"}
MARKER = re.compile(
    r"\bmark\.promise\(([^()]*)\)(?=.*?^\s*(?:def|class) (\w+))", re.S | re.M
)
"""Its ids, and what it stands above."""
ALWAYS_SKIPS = re.compile(
    r"pytestmark = .*mark\.skip\b|mark\.skip\(|skipif\(True|^    pytest\.skip\(", re.M
)
"""The last one is a body's own statement, under no condition."""


def main(root):
    """Print a line for each mistake; the exit code is 1 if there are any."""
    chapters = tomllib.loads((root / TABLE).read_text())
    rows = {
        f"{c}.{word}": row for c, part in chapters.items() for word, row in part.items()
    }
    tried = set[str]()
    mistakes = [*wrong_rows(root, rows), *wrong_markers(root, rows, tried)]
    mistakes += [
        f"{TABLE}: [{id}] is tried by no test; mark the one that does with "
        f'@pytest.mark.promise("{id}"), write one, or take the row out'
        for id in sorted(rows.keys() - tried)
    ]
    print("\n".join(mistakes), end="\n" * bool(mistakes))
    return int(bool(mistakes))


def wrong_rows(root, rows):
    """Rows whose sentence is not, or no longer, the document's."""
    for id, row in rows.items():
        if set(row) != KEYS or not all(row.values()):
            yield f"{TABLE}: [{id}] needs {', '.join(sorted(KEYS))}, and no more"
        elif not (document := root / row["document"]).is_file():
            yield f"{TABLE}: [{id}]: there is no {row['document']}; name a document"
        elif folded(row["sentence"]) not in folded(document.read_text()):
            yield (
                f"{TABLE}: the sentence of [{id}] does not stand in {row['document']}; "
                "copy it from there as it is, or take the row and its markers out"
            )


def folded(text):
    """However its lines are broken."""
    return " ".join(text.split())


def wrong_markers(root, rows, tried):
    """Markers of no row, and those of what never runs; `tried` gets all ids."""
    for file in sorted((root / "tests").rglob("test_*.py")):
        text = file.read_text()
        for ids, name in MARKER.findall(text):
            place = f"{file.relative_to(root)}: {name}"
            found = re.findall('"([^"]*)"', ids)
            tried.update(found)
            if not found or not name.lower().startswith("test"):
                yield f"{place}: name a promise by its id, as a text, above a test"
            elif ALWAYS_SKIPS.search(text):
                yield f"{place} is in a file whose tests may never run; mark one that does"
            for id in (one for one in found if one not in rows):
                near = "".join(
                    f"; {one} is near" for one in get_close_matches(id, rows, 1)
                )
                yield f"{place}: no promise is called {id}{near}; add [{id}] to {TABLE}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
