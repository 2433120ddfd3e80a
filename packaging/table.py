"""Tables of docs/install.md that are written by what tries the systems out."""

from __future__ import annotations

from static_engine import ROOT

DOCUMENT = ROOT / "docs/install.md"


def write_rows(name: str, head: str, new: str, *, key: int) -> None:
    """Put a row between the comments of a table; one with the same first cells goes."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, _, rest = DOCUMENT.read_text().partition(begin)
    table, _, after = rest.partition(end)
    lines = (*table.splitlines()[2:], new)
    rows = {tuple(line.split(" | ")[:key]): line for line in lines}
    body = "".join(f"{row}\n" for row in rows.values())
    DOCUMENT.write_text(f"{before}{begin}{head}{body}{end}{after}")
