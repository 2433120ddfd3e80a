"""A report's document as one HTML page, complete in itself; or one of its charts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.text import counted
from ioplan.records.record import outcome_text
from ioplan.results.report.blocks import Bars, Facts, Line, Table
from ioplan.results.report.build import Document
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.facts import known_facts
from ioplan.results.report.first_screen import (
    MOST_BARS,
    MOST_CARDS,
    MOST_TALL_CARDS,
    TALL,
)
from ioplan.results.report.html.palette import GREY, color_css, color_of
from ioplan.results.report.html.payload import about_json, picture_json, runs_json
from ioplan.results.report.html.spec import has_many_series
from ioplan.results.report.html.window import windows
from ioplan.results.report.judgements import (
    OPEN,
    first_lines_of,
    outcomes_of,
    outcomes_text,
)
from ioplan.results.report.many_sessions import many_sessions
from ioplan.results.report.section import Section

SCRIPTS = ("units", "data", "draw", "reading", "tables", "save", "page")
WORST = ("failed", *OPEN, "held")
NO_COVER = Facts("", ())


def cover(sponsor: str, vendor: str) -> Facts:
    """What SNIA's report format asks for and no session knows."""
    return known_facts("Report", (("Test sponsor", sponsor), ("Vendor", vendor)))


class Chart(Struct, frozen=True):
    id: str
    picture: ChartSpec
    json: Markup
    wide: bool


def page(
    document: Document, on: Facts = NO_COVER, only: ChartSpec | None = None
) -> str:
    """The whole page; `on` is the cover of its printed sheets; or `only` a chart."""
    screen = document.screen
    styles = color_of([drive.label for drive in screen.drives])
    style = "\n" + color_css() + _read("page.css") + sheet_style(document, on)
    library, script = "\n" + _read("vendor/charts.js"), _script()
    environment = _environment()
    return environment.get_template("page.html.j2").render(
        document=document,
        cover=on,
        policy=policy((library, script), style),
        style=Markup(style),
        library=Markup(library),
        script=Markup(script),
        licences=_read("vendor/LICENSES.txt"),
        charts={
            section.id: _charts(section.id, [only] if only else section.pictures)
            for section in document.sections
        },
        blocks=_charts("blocks", document.blocks),
        worst=worst,
        outcome_text=outcome_text,
        summed=summed,
        windows=windows,
        first_lines=first_lines_of,
        many=many_sessions(document.sessions),
        about=Markup(about_json(document)),
        screen=screen,
        reach=reach,
        most_cards=MOST_CARDS if len(styles) <= TALL else MOST_TALL_CARDS,
        styles=styles,
        grey=GREY,
        many_drives=len(styles) > MOST_BARS,
        table=lambda frame: Markup(runs_json(frame)),
    )


def sheet_style(document: Document, on: Facts) -> str:
    """The margins of a printed sheet: plan, sponsor, when it was made, its number."""
    boxes = {
        "top-left": _css_text(document.screen.title),
        "top-right": _css_text(", ".join(f"{name}: {text}" for name, text in on.pairs)),
        "bottom-left": _css_text(document.made),
        "bottom-right": 'counter(page) " / " counter(pages)',
    }
    inner = " ".join(
        f"@{place} {{ content: {text}; font: 8pt sans-serif; color: #444; }}"
        for place, text in boxes.items()
    )
    return f"@page {{ size: A4; margin: 18mm 14mm 16mm; {inner} }}\n"


def _css_text(text: str) -> str:
    """A string of CSS; what is no letter or digit is written as its number."""
    signs = re.sub(r"[^A-Za-z0-9 ]", lambda sign: f"\\{ord(sign[0]):x} ", text)
    return f'"{signs}"'


def policy(scripts: tuple[str, ...], style: str) -> str:
    """What the page may do: run these scripts, and reach nothing."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def worst(section: Section) -> str:
    outcomes = {line.outcome for line in (*section.judged, *section.remarks)}
    outcome = next((outcome for outcome in WORST if outcome in outcomes), "none")
    return "undecided" if outcome in OPEN else outcome


def summed(section: Section) -> str:
    """`3 passed, 1 failed; 2 remarks`."""
    count = len(section.remarks)
    remarks = counted(count, "remark") if count else ""
    texts = (outcomes_text(outcomes_of(section.judgements)), remarks)
    return "; ".join(filter(None, texts)) or "none"


def _charts(id: str, blocks: Sequence[Line | Table | ChartSpec]) -> list[Any]:
    """The blocks, with the place of each picture among them."""
    wide = _widths([not isinstance(b, ChartSpec) or _needs_width(b) for b in blocks])
    return [
        Chart(f"{id}-chart-{n}", own, Markup(picture_json(own)), is_wide)
        if isinstance(own, ChartSpec)
        else own
        for n, (own, is_wide) in enumerate(zip(blocks, wide, strict=True), start=1)
    ]


def _needs_width(picture: ChartSpec) -> bool:
    wide = picture.marks.is_wide or bool(picture.channels.panel)
    return wide or has_many_series(picture)


def _widths(wide: list[bool]) -> list[bool]:
    """Two narrow charts share a row; one that is left alone takes all of it."""
    widths: list[bool] = []
    for needs, group in groupby(wide):
        count = len(list(group))
        alone = not needs and count % 2 == 1
        widths += [needs] * (count - alone) + [True] * alone
    return widths


MOST_STRETCH = 3.0
"""A limit further away than so many times the longest bar has no tick."""


def reach(block: Bars) -> tuple[float, bool]:
    """What takes all of the width of its bars, which begin at zero; and whether the
    tick of its limit is drawn."""
    longest = max((bar.high or bar.value or 0.0 for bar in block.bars), default=0.0)
    limit = block.limit or 0.0
    is_near = 0 < limit <= MOST_STRETCH * longest
    return max(longest, limit) if is_near else longest or 1.0, is_near


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ioplan.results.report", "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _script() -> str:
    parts = (_read(f"script/{name}.js") for name in SCRIPTS)
    return '\n"use strict";\n' + "\n".join(parts)


def _read(name: str) -> str:
    return (files("ioplan.results.report.html") / name).read_text("utf-8")


# One chart by its name, and a page with it alone.

Place = tuple[str, ChartSpec]
"""The id of a chart's section, and the chart."""


class NoChartError(ExplainedError):
    kind = CommandFault.USAGE


def charts_of(document: Document) -> dict[str, Place]:
    """The charts of a report by their names, `test: title`; a second one is `… 2`."""
    named, counts = dict[str, Place](), Counter[str]()
    for section in document.sections:
        for picture in section.pictures:
            name = f"{section.title}: {picture.title}"
            counts[name] += 1
            key = f"{name} {counts[name]}" if counts[name] > 1 else name
            named[key] = (section.id, picture)
    return named


def chart_named(document: Document, name: str) -> Place:
    """By its name, or by a part of it that no other has. Raises NoChartError."""
    charts = charts_of(document)
    fitting = [key for key in charts if name == key] or [
        key for key in charts if name.lower() in key.lower()
    ]
    if len(fitting) == 1:
        return charts[fitting[0]]
    which = "no chart" if not fitting else f"{len(fitting)} charts with"
    names = ", ".join(map(repr, fitting or charts))
    raise NoChartError(
        f"the report has {which} {name!r}: name one of {names or 'none'}"
    )


def chart_page(document: Document, place: Place) -> str:
    """A page with this chart alone, drawn as in the report."""
    id, picture = place
    sections = tuple(section for section in document.sections if section.id == id)
    return page(replace(document, sections=sections), only=picture)
