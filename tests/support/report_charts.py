"""Pictures of the runs in a store, for the tests of the report."""

from io import StringIO

from figures import SESSION_ID
from msgspec.structs import replace
from rich.console import Console

from ioplan.language import Test, parse_metric
from ioplan.results import report
from ioplan.results.report import (
    Headline,
    Reader,
    document,
    points,
)

ID = SESSION_ID


def charts(store, kind, *metrics, by="", of=(("A", ID),)):
    """What a chart line draws of all runs, without what no line asks for; `by` are its axes, `of` sessions by label."""
    line = report.chart(kind, (), by.split())
    parsed = [parse_metric(one) if isinstance(one, str) else one for one in metrics]
    test = Test(title="demo", charts=(replace(line, metrics=tuple(parsed)),), axes=())
    runs = points({label: list(store.records(id)) for label, id in dict(of).items()})
    drawn = report.pictures(test, runs, Reader(store))
    return [one for one in drawn if by == "iops" or one.kind != "hockey"]


def headlines_by_test(store, records, plan=None):
    session = store.session(records[0].session)
    sections, _ = report.session_sections(store, session, records, plan)
    return {s.title: next(iter(s.headlines.values()), ()) for s in sections}


def column(picture, key):
    at = [c.key for c in picture.frame.columns].index(key)
    return [row[at] for row in picture.frame.rows]


def composed(store, *ids):
    sessions = [store.session(id) for id in ids or (ID,)]
    return document(store, sessions, {}, "Made in a test")


def printed(picture, width=80, colors=None):
    """As a terminal shows it, which has colours where a system of them is given."""
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=bool(colors),
        color_system=colors,
        no_color=not colors,
    )
    for part in report.drawn(picture, console):
        console.print(part)
    text = console.file.getvalue()
    assert colors or ("\x1b" not in text)
    assert colors or max(map(len, text.splitlines())) <= width
    return text


def headline(value, **more):
    """Of the IOPS of random reads at queue depth 1, without any cells."""
    fields = {"name": "IOPS", "metric": "iops", "unit": "1/s"}
    fields |= {"kind": "", "where": "QD 1", "definition": "", "cell": {}}
    fields |= {"among": frozenset(), "quantity": "IOPS"}
    return Headline(value=value, **fields | more)


def luminance(rgb):
    """The relative luminance of a colour in parts of 255, as WCAG 2 defines it."""
    parts = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (part / 255 for part in rgb)
    ]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
