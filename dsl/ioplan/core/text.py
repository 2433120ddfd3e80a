"""Text from anywhere, such that it can only be read: it cannot steer a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ioplan.core.units import count_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def printable(text: str) -> str:
    """One line: what is invisible becomes a mark, tabs take one column."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """A text of several lines, each made printable."""
    return "\n".join(map(printable, text.split("\n")))


def _shown(char: str) -> str:
    if char == "\t":
        return " "
    hidden = unicodedata.category(char) in INVISIBLE
    return "\N{REPLACEMENT CHARACTER}" if hidden else char


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is like it at all."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word[:80].lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A clause to put behind an error: `, did you mean 'size'?`, or nothing."""
    found = nearest(word, known)
    return f", did you mean {found!r}?" if found and found != word else ""


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`, `10,000 runs`."""
    return f"{count_text(count)} {noun}{'' if count == 1 else 's'}"


UNBOUNDED = 10_000


def line(text: str, style: str = "") -> Text:
    """Never markup; a line end in it could forge a line of the report's own."""
    from rich.text import Text  # noqa: PLC0415  the language needs no terminal

    return Text(printable(text), style=style)


FIGURE = re.compile(r"(-?\d[\d,]*)(\.\d+)?(.*)")


def aligned(texts: Sequence[str]) -> list[str]:
    """Figures of one width, with their points below one another.

    Blanks stand before a unit that is set off, or behind one that is not. What is no
    figure stands at the right.
    """
    found = [FIGURE.fullmatch(text) for text in texts]
    most = max((len(one[2] or "") for one in found if one), default=0)
    units = max((len(one[3]) for one in found if one), default=0)
    made = [
        _figure(one, most, units) if one else text
        for one, text in zip(found, texts, strict=True)
    ]
    return flush_right(made)


def flush_right(texts: Sequence[str]) -> list[str]:
    """All as wide as the widest of them."""
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]


def _figure(one: re.Match[str], most: int, units: int) -> str:
    """All that is behind the point, or the unit, takes as much room in each."""
    whole, behind, unit = one[1], one[2] or "", one[3]
    if unit.startswith(" "):
        return whole + behind.ljust(most) + unit.ljust(units)
    return whole + (behind + unit).ljust(most + units)


def fits(table: RenderableType, console: Console) -> bool:
    """Whether it can be shown without cutting anything off."""
    wide = console.options.update_width(UNBOUNDED)
    return console.measure(table, options=wide).maximum <= console.width
