"""A report's document as one HTML page, complete in itself."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from ioplan.core.text import counted
from ioplan.results.report.blocks import Facts
from ioplan.results.report.documents import ChartSpec, Document, Section
from ioplan.results.report.first_screen import (
    MOST_BARS,
    MOST_CARDS,
    MOST_TALL_CARDS,
    TALL,
)
from ioplan.results.report.html.cards import drawn_card
from ioplan.results.report.html.palette import color_css, color_of
from ioplan.results.report.html.payload import about_json, picture_json, runs_json
from ioplan.results.report.html.spread import has_many_series
from ioplan.results.report.html.window import Window, windows
from ioplan.results.report.judgements import (
    OPEN,
    first_lines_of,
    outcomes_of,
    outcomes_text,
)
from ioplan.results.report.many_sessions import many_sessions

# What stands on each printed sheet: plan, sponsor, when it was made, its number.


def cover(sponsor: str, vendor: str) -> Facts:
    """What SNIA's report format asks for and no session knows."""
    pairs = (("Test sponsor", sponsor), ("Vendor", vendor))
    return Facts("Report", tuple((name, text) for name, text in pairs if text))


def sheet_style(document: Document, on: Facts) -> str:
    """The margins of a sheet, in CSS."""
    told = ", ".join(f"{name}: {text}" for name, text in on.pairs)
    boxes = {
        "top-left": _text(document.screen.title),
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


SCRIPTS = (
    *("units", "rows", "series", "spread", "theme", "ends", "draw", "hints"),
    *("keyboard", "publish", "save", "drives", "state", "zoom", "tables", "tools"),
    *("filter", "page"),
)
WORST = ("failed", *OPEN, "held")
PARTS = ("judged", "facts", "data", "figure", "card")
"""The macros of `parts.html.j2` that the page uses."""


NO_COVER = Facts("", ())


class Chart(Struct, frozen=True):
    """A picture with its place in the page."""

    id: str
    picture: ChartSpec
    json: Markup
    wide: bool

    @property
    def drawn(self) -> bool:
        """Whether it is more than a table."""
        return self.picture.kind != "table"

    @property
    def windows(self) -> list[Window]:
        """The tables of a steady state."""
        return windows(self.picture)

    @property
    def pivoted(self) -> bool:
        """Whether a table of two axes stands below it."""
        return self.picture.marks.is_grid

    @property
    def listed(self) -> bool:
        """Whether its table is its data."""
        return self.picture.kind == "table" and not self.picture.y


def page(document: Document, on: Facts = NO_COVER) -> str:
    """The whole page; `on` is the cover of its printed sheets."""
    styles = color_of([drive.label for drive in document.screen.drives])
    style = _style() + sheet_style(document, on)
    library, script = _library(), _script()
    environment = _environment()
    parts = environment.get_template("parts.html.j2").module
    return environment.get_template("page.html.j2").render(
        document=document,
        cover=on,
        policy=policy((library, script), style),
        style=Markup(style),
        library=Markup(library),
        script=Markup(script),
        licences=_read("vendor/LICENSES.txt"),
        charts={section.id: _charts(section) for section in document.sections},
        worst=worst,
        summed=summed,
        first_lines=first_lines_of,
        many=many_sessions(document.sessions),
        about=Markup(about_json(document)),
        screen=document.screen,
        cards=[drawn_card(one, styles) for one in document.screen.cards],
        most_cards=MOST_CARDS if len(styles) <= TALL else MOST_TALL_CARDS,
        styles=styles,
        many_drives=len(styles) > MOST_BARS,
        table=lambda frame: Markup(runs_json(frame)),
        **{n: getattr(parts, n) for n in PARTS},
    )


def policy(scripts: tuple[str, ...], style: str) -> str:
    """What the page may do: run these scripts, and reach nothing."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    found = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(found).decode()}'"


def worst(section: Section) -> str:
    """The outcome of a test as a whole."""
    found = {line.outcome for line in (*section.judged, *section.remarks)}
    outcome = next((outcome for outcome in WORST if outcome in found), "none")
    return "undecided" if outcome in OPEN else outcome


def summed(section: Section) -> str:
    """`3 held, 1 failed; 2 remarks`."""
    count = len(section.remarks)
    remarks = counted(count, "remark") if count else ""
    texts = (outcomes_text(outcomes_of(section.judgements)), remarks)
    return "; ".join(filter(None, texts)) or "none"


def _charts(section: Section) -> list[Chart]:
    charts = []
    wide = _widths([_needs_width(picture) for picture in section.pictures])
    for number, picture in enumerate(section.pictures):
        id = f"{section.id}-chart-{number + 1}"
        json = Markup(picture_json(picture))
        charts.append(Chart(id, picture, json, wide[number]))
    return charts


def _needs_width(picture: ChartSpec) -> bool:
    wide = picture.marks.is_wide or bool(picture.channels.panel)
    return wide or has_many_series(picture)


def _widths(wide: list[bool]) -> list[bool]:
    """Two narrow charts share a row; one that is left alone takes all of it."""
    made: list[bool] = []
    for needs, group in groupby(wide):
        count = len(list(group))
        alone = not needs and count % 2 == 1
        made += [needs] * (count - alone) + [True] * alone
    return made


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ioplan.results.report", "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _style() -> str:
    return "\n" + _read("palette.css") + color_css() + _read("page.css")


def _library() -> str:
    return "\n" + _read("vendor/charts.js")


def _script() -> str:
    parts = (_read(f"script/{name}.js") for name in SCRIPTS)
    return '\n"use strict";\n' + "\n".join(parts)


def _read(name: str) -> str:
    return (files("ioplan.results.report.html") / name).read_text("utf-8")
