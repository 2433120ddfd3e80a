"""Blocks of a screen: page, terminal, Markdown and JUnit each write the same ones."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ioplan.planner.places import NOT_MEASURED

Tone = Literal["plain", "soft", "strong", "good", "bad", "warning"]
"""How a text is set off: by colour and by a sign, never by colour alone. What is strong
is a heading: of what follows, or of its row."""
MARK = "▲"
"""Beside a figure that must not be relied on."""
MOST_CARDS = 8
"""Up to so many sessions each have all their facts beside one another."""


class Text(Struct, frozen=True):
    """A line of text; `link` is the identifier of the section that it is about."""

    text: str
    tone: Tone = "plain"
    link: str = ""


class Chip(Text, frozen=True):
    """What must be known before a figure is relied on.

    `details` are what it counts, the gravest first; with `is_list` they stand in its
    place where there is room for lines.
    """

    details: tuple[str, ...] = ()
    is_list: bool = False


class Judged(Struct, frozen=True):
    outcome: str
    text: str

    @property
    def tone(self) -> Tone:
        return TONES.get(self.outcome, "plain")


TONES: dict[str, Tone] = {
    "held": "good",
    "failed": "bad",
    **dict.fromkeys(("undecided", "warning", NOT_MEASURED), "warning"),
}


Line = Text | Judged


class Facts(Struct, frozen=True):
    heading: str
    pairs: tuple[tuple[str, str], ...]


class Table(Struct, frozen=True):
    """Rows of cells below one line of headings.

    `numeric` are the columns that are aligned to the right.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]
    numeric: frozenset[int] = frozenset()


class Bar(Struct, frozen=True):
    """A figure as a bar: `value` in the unit of its block, `text` as it is shown.

    `low` and `high` bound the mean with 95 % confidence, where this is visible.
    What must not be relied on is not `is_firm`, and `note` says why.
    """

    label: str
    value: float | None
    text: str
    is_best: bool = False
    is_firm: bool = True
    low: float | None = None
    high: float | None = None
    note: str = ""
    definition: str = ""
    is_folded: bool = False
    """Whether it is shown only when asked for, as there are many."""
    title: str = ""

    @property
    def name(self) -> str:
        """The drive, with what is special about its bar: `median: disk`."""
        return self.title or self.label


class Bars(Struct, frozen=True):
    """One figure of each drive, the best first; `limit` is that of its expectation."""

    title: str
    caption: str
    bars: tuple[Bar, ...]
    unit: str = ""
    limit: float | None = None
    limit_text: str = ""
    notes: tuple[str, ...] = ()
    """What must be known of its bars, each once with the drives that it is about."""
    link: str = ""


Outcome = Literal["held", "failed", "undecided", "none"]


class Drive(Struct, frozen=True):
    """A drive under the label that it has on the whole screen."""

    label: str
    facts: str
    is_simulated: bool = False


class FirstScreen(Struct, frozen=True):
    """What is seen before anything is read.

    `badge` is SIMULATED or a profile, `line` says when, how much and by what version.
    `cards` has all headlines, the most important first.
    """

    title: str
    line: str
    outcome: Outcome = "none"
    badge: str = ""
    drives: tuple[Drive, ...] = ()
    sentence: str = ""
    chips: tuple[Chip, ...] = ()
    cards: tuple[Bars, ...] = ()
    is_in_chips: bool = False
    """Whether a chip says what the sentence does."""
    failures: tuple[str, ...] = ()
    """Remarks on what failed that no chip has."""
