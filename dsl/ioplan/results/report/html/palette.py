"""The colour and the marker of each drive: the same ones on the whole page.

After Okabe and Ito, for either ground; darker where text or a thin line would be faint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Style(NamedTuple):
    """A colour of marks on white and on a dark ground, one of text on white, a shape.

    On a dark ground text has the colour of the marks. `name` is the class of style.
    """

    name: str
    light: str
    dark: str
    text: str
    shape: str


COLORS = (
    Style("drive-0", "#0072B2", "#56B4E9", "#0072B2", "circle"),
    Style("drive-1", "#009E73", "#2FCFA0", "#007A59", "square"),
    Style("drive-2", "#D55E00", "#FF9E57", "#B34E00", "triangle-up"),
    Style("drive-3", "#B8578F", "#F0A3CF", "#A34A7D", "diamond"),
    Style("drive-4", "#B07D00", "#F0E442", "#856000", "cross"),
    Style("drive-5", "#2F93D0", "#9DB7FF", "#1A6FA3", "triangle-down"),
    Style("drive-6", "#6A3D9A", "#C9A0FF", "#6A3D9A", "triangle-right"),
    Style("drive-7", "#16202C", "#E7ECF2", "#16202C", "triangle-left"),
)
GREY = Style("drive-other", "#767676", "#9AA3AD", "#696969", "circle")
"""What more drives than there are colours have, with their names beside them."""


def color_of(labels: Sequence[str]) -> dict[str, Style]:
    """The style of each drive, in the order of the page."""
    first = dict(zip(labels, COLORS, strict=False))
    return {label: first.get(label, GREY) for label in labels}


def color_css() -> str:
    """A class for each style, with its `--drive` for marks."""
    return "\n".join(
        f".{style.name} {{ --drive: light-dark({style.light}, {style.dark}); }}"
        for style in (*COLORS, GREY)
    )
