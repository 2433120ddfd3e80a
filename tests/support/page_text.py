"""Texts of a report's page, read without ioplan's own code."""

from __future__ import annotations

import html
import re
from pathlib import Path


def sentence_of(page: Path) -> str:
    """The first sentence of a report."""
    found = re.search(r'<p class="sentence">(.*?)</p>', page.read_text("utf-8"))
    assert found, "the page has no sentence"
    return html.unescape(re.sub(r"<[^>]+>", "", found[1]))
