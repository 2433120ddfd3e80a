"""One chart of a report by its name, and a page with it alone."""

from __future__ import annotations

from msgspec.structs import replace

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.results.report.documents import ChartSpec, Document
from ioplan.results.report.html.page import page

Place = tuple[str, ChartSpec]
"""The id of a chart's section, and the chart."""


class NoChartError(ExplainedError):
    """No chart has the name, or several have."""

    kind = CommandFault.USAGE


def charts_of(document: Document) -> dict[str, Place]:
    """The charts of a report by their names, `test: title`; a second one is `… 2`."""
    named: dict[str, Place] = {}
    for section in document.sections:
        for picture in section.pictures:
            name = f"{section.title}: {picture.title}"
            alike = sum(key == name or key.startswith(f"{name} ") for key in named)
            key = f"{name} {alike + 1}" if name in named else name
            named[key] = section.id, picture
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
    sections = [section for section in document.sections if section.id == id]
    alone = tuple(replace(section, pictures=(picture,)) for section in sections)
    return page(replace(document, sections=alone))
