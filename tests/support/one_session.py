"""One session of a suite as terminal, page and export tell of it."""

import csv
import io
import json
import re
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from command import ioplan
from msgspec import Struct

from ioplan.cli import plan_of
from ioplan.results.report import Section, session_sections
from ioplan.results.store import Store

DATA = re.compile(
    r'<script type="application/json" id="(test-\d+)-(runs|chart-\d+-data)">(.*?)</script>'
)
Row = dict[str, Any]
HEADLINES = "headlines"
"""The key of what is printed below the tests."""


class Shown(Struct, frozen=True):
    """One session as the three tell of it; `page` has the data of the HTML
    file, `html` is all of it."""

    printed: dict[str, str]
    page: dict[str, dict[str, Any]]
    html: str
    export: list[Row]
    windows: dict[str, Row]
    sections: list[Section]


def shown_of(suite, store):
    """Run a suite in its smoke profile; what terminal, page and export say of it."""
    place = ("--store", store)
    run = ("run", suite, "--profile", "smoke", "-q", *place)
    done = ioplan(*run, "--backend", "sim", "--create", "256MiB")
    assert done.code in (0, 1), done.err  # too short to become steady, maybe
    page = store.with_name("report.html")
    assert ioplan("report", "last", "-o", page, *place).code == 0
    whole = json.loads(ioplan("export", "--format", "json", *place).out)
    flat = ioplan("export", "--format", "csv", *place).out
    with Store.open(store) as opened:
        session = opened.session("last")
        records = list(opened.records(session.id))
        sections, _ = session_sections(opened, session, records, plan_of(session))
    return Shown(
        printed=printed_by_test(ioplan("show", "--tables", *place).out, sections),
        page=page_data(page),
        html=page.read_text(),
        export=list(csv.DictReader(io.StringIO(flat, newline=""))),
        windows=whole["windows"],
        sections=sections,
    )


def printed_by_test(text, sections):
    """What was printed of each test, which fits a terminal and is plain."""
    assert "\x1b" not in text
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    found = {}
    heads = {f"{one.title} ".ljust(80, "─"): one.id for one in sections}
    heads["Headlines, SIMULATED, PROFILE smoke ".ljust(80, "─")] = HEADLINES
    for line in lines:
        if line in heads:
            found[heads[line]] = []
        elif found:
            found[list(found)[-1]].append(line)
    return {id: "\n".join(kept) for id, kept in found.items()}


def page_data(page):
    """The JSON of each test: its runs, and its charts by their place."""
    found = {}
    for id, name, text in DATA.findall(page.read_text()):
        found.setdefault(id, {})[name.removesuffix("-data")] = json.loads(text)
    return found


LETTERS = ascii_uppercase + ascii_lowercase + digits + "-_"


def rows_of(frame):
    """The rows that a page unfolds."""
    keys = [column["key"] for column in frame["columns"]]
    data = [
        column if isinstance(column, list) else _values(column)
        for column in frame["data"]
    ]
    return [dict(zip(keys, values, strict=True)) for values in zip(*data, strict=True)]


def _values(column):
    """Each value once, and its place in every row by one letter or two."""
    each, at = column["texts"], [LETTERS.index(letter) for letter in column["at"]]
    if len(each) > len(LETTERS):
        at = [64 * high + low for high, low in zip(at[::2], at[1::2], strict=True)]
    return [each[place] for place in at]


def columns_of(frame):
    return {column["key"]: column for column in frame["columns"]}


def squeezed(text):
    """Lines with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines()]
