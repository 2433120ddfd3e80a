"""A report's outcome as a badge for a README: an SVG without a browser."""

from __future__ import annotations

from xml.sax.saxutils import escape

from ioplan.results.report.documents import Document
from ioplan.results.report.judgements import outcomes_of, outcomes_text

COLORS = {"held": "#2a7d4f", "failed": "#b3261e", "undecided": "#8a6100"}
OTHER = "#555555"
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


def badge(found: Document) -> str:
    """`ioplan: 12 held`, `ioplan: 1 failed, 11 held, simulated`."""
    told = (_outcome(found), _simulated(found), *_profiles(found))
    text = ", ".join(filter(None, told))
    left, right = _width(NAME), _width(text)
    return BADGE.format(
        **{"name": NAME, "text": escape(text), "room": ROOM_PX // 2},
        **{"left": left, "right": right, "width": left + right, "height": HEIGHT_PX},
        **{"start": left + ROOM_PX // 2, "color": _color(found)},
    )


def _outcome(found: Document) -> str:
    """The expectations, bad ones first; a good outcome may have a doubt."""
    judged = [one for section in found.sections for one in section.judgements]
    counts = dict(sorted(outcomes_of(judged).items(), key=lambda one: one[0] == "held"))
    doubted = found.screen.outcome == "undecided" and {*counts} <= {"held"}
    return (outcomes_text(counts) or "measured") + ", in doubt" * doubted


def _simulated(found: Document) -> str:
    virtual = [one.simulated for one in found.sources]
    return "simulated" if all(virtual) else "partly simulated" if any(virtual) else ""


def _profiles(found: Document) -> list[str]:
    named = dict.fromkeys(one.profile for one in found.sources if one.profile)
    return [f"profile {one}" for one in named]


def _color(found: Document) -> str:
    return COLORS.get(found.screen.outcome, OTHER)


def _width(text: str) -> int:
    return round(len(text) * CHARACTER_PX) + ROOM_PX
