"""What stands on each printed sheet: plan, sponsor, when it was made, its number."""

from __future__ import annotations

import re

from ioplan.results.report.document import Document, Facts


def cover(sponsor: str, vendor: str) -> Facts:
    """What SNIA's report format asks for and no session knows."""
    pairs = (("Test sponsor", sponsor), ("Vendor", vendor))
    return Facts("Report", tuple((name, text) for name, text in pairs if text))


def sheet_style(document: Document, on: Facts) -> str:
    """The margins of a sheet, in CSS."""
    told = ", ".join(f"{name}: {text}" for name, text in on.pairs)
    boxes = {
        "top-left": _text(document.title),
        "top-right": _text(told),
        "bottom-left": _text(document.made),
        "bottom-right": 'counter(page) " / " counter(pages)',
    }
    inner = " ".join(
        f"@{place} {{ content: {text}; font: 8pt sans-serif; color: #444; }}"
        for place, text in boxes.items()
    )
    return f"@page {{ size: A4; margin: 18mm 14mm 16mm; {inner} }}\n"


def _text(text: str) -> str:
    """A string of CSS; what is no letter or digit is written as its number."""
    signs = re.sub(r"[^A-Za-z0-9 ]", lambda found: f"\\{ord(found[0]):x} ", text)
    return f'"{signs}"'
