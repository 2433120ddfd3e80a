"""A report's outcome as a badge for a README: an SVG without a browser."""

from __future__ import annotations

from xml.sax.saxutils import escape

from ioplan.results.report.build import Document
from ioplan.results.report.headlines.doubts import PROFILE, SIMULATED
from ioplan.results.report.judgements import outcomes_of, outcomes_text

COLORS = {"held": "#2a7d4f", "failed": "#b3261e", "undecided": "#8a6100"}
"""Each with a contrast of at least 4.5 to its white text."""
NAME = "ioplan"
CHARACTER_PX, ROOM_PX, HEIGHT_PX = 6.7, 12, 20
BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
role="img" aria-label="{name}: {text}">
<title>{name}: {text}</title>
<rect width="{width}" height="{height}" rx="3" fill="#333333"/>
<rect x="{left}" width="{right}" height="{height}" rx="3" fill="{color}"/>
<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
<text x="{room}" y="14">{name}</text>
<text x="{start}" y="14">{text}</text>
</g>
</svg>
"""


def badge(document: Document) -> str:
    """`ioplan: 12 passed`, `ioplan: 1 failed, 11 passed, simulated`."""
    part = document.screen.badge  # in capitals: a title has them
    for word in (SIMULATED, PROFILE):
        part = part.replace(word.upper(), word)
    text = ", ".join(filter(None, (_outcome(document), part)))
    left, right = _width(NAME), _width(text)
    return BADGE.format(
        name=NAME,
        text=escape(text),
        room=ROOM_PX // 2,
        left=left,
        right=right,
        width=left + right,
        height=HEIGHT_PX,
        start=left + ROOM_PX // 2,
        color=COLORS.get(document.screen.outcome, "#555555"),
    )


def _outcome(document: Document) -> str:
    """The expectations, bad ones first; a good outcome may have a doubt."""
    counts = outcomes_of(own for s in document.sections for own in s.judgements)
    bad_first = dict(sorted(counts.items(), key=lambda pair: pair[0] == "held"))
    is_doubted = document.screen.outcome == "undecided" and {*bad_first} <= {"held"}
    return (outcomes_text(bad_first) or "measured") + ", in doubt" * is_doubted


def _width(text: str) -> int:
    return round(len(text) * CHARACTER_PX) + ROOM_PX
