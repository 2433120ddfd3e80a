"""A comparison as JUnit XML: a suite a test, a case for each metric of each cell."""

from __future__ import annotations

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ioplan.compare.comparison import Comparison, Row
from ioplan.compare.words import cell_text, row_text
from ioplan.printable import printable


def junit(found: Comparison) -> bytes:
    """Worse is a failure, undecided is skipped."""
    root = Element("testsuites", name="ioplan compare")
    for title, group in groupby(found.rows, key=lambda row: row.test):
        _suite(root, title, list(group))
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: Element, title: str, rows: list[Row]) -> None:
    words = [row.verdict for row in rows]
    suite = SubElement(
        root,
        "testsuite",
        name=printable(title),
        tests=str(len(rows)),
        failures=str(words.count("worse")),
        errors="0",
        skipped=str(words.count("undecided")),
    )
    for row in rows:
        _case(suite, row)


def _case(suite: Element, row: Row) -> None:
    name = f"{cell_text(row)} {row.metric}".strip()
    case = SubElement(
        suite, "testcase", classname=printable(row.test), name=printable(name)
    )
    message = printable(row_text(row))
    if row.verdict == "worse":
        SubElement(case, "failure", message=message)
    elif row.verdict == "undecided":
        SubElement(case, "skipped", message=message)
    else:
        SubElement(case, "system-out").text = message
