"""The names that mean something at a place, by sort."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ioplan.language import (
    AXIS_FIELDS,
    CHARTS,
    HOST,
    LATENCY,
    METRIC_MEANINGS,
    METRICS,
    MOVED,
    PERCENTILE_MEANING,
    Findings,
    Parameters,
    Quantity,
    installed_plans,
)
from ioplan.language.syntax import tree
from ioplan.workload import COUNTED, SYNCS
from ioplan_editor.complete.place import Place
from ioplan_editor.document import Document

PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999")
VARIED = re.compile(r"\bvary\s+(\(?[\w.,\s]+?\)?)\s+in\b")
VALUE = re.compile(
    r"\d[\d_.]*(?:%|/\d+|[A-Za-z]+(?:/s)?|\s(?:iops|pass(?:es)?)\b)?|[a-z]\w*"
)
KINDS = {
    "param": tree.Param,
    "trace": tree.Trace,
    "workload": tree.Workload,
    "precondition": tree.Precondition,
}
OVER = {
    "time": "over the run",
    "round": "over the rounds",
    "iops": "over the I/Os per second",
    "bytes": "over the bytes written",
}
EACH = {"run": "before each run", "round": "before each round"}
SCALES = {"x": "a logarithmic x axis", "y": "a logarithmic y axis"}


class Name(Struct, frozen=True):
    """A name, its sort, and a line on what it is."""

    text: str
    sort: str
    about: str = ""


def names(sort: str, place: Place, document: Document) -> Iterator[Name]:
    """All names of a sort that can be written at a place."""
    if sort in KINDS:
        yield from defined(sort, place, document)
    elif sort == "setting":
        yield from defined("param", place, document)
        yield from defined("precondition", place, document)
    elif sort == "state":
        yield from states(place, document)
    elif sort == "metric":
        yield from metrics(place, document)
    elif sort == "latency":
        yield from latencies(place, document)
    elif sort == "chart":
        yield from (Name(one.name, "chart", one.meaning) for one in CHARTS.values())
    elif sort == "axis":
        yield from (
            Name(one, "field", "a field of the workload") for one in AXIS_FIELDS
        )
        yield from defined("param", place, document)
    elif sort == "varied":
        yield from (Name(one, "axis", "varied in this test") for one in varied(place))
    else:
        known = {"over": OVER, "run or round": EACH, "scale": SCALES}.get(sort, {})
        yield from (Name(one, "word", about) for one, about in known.items())


def defined(sort: str, place: Place, document: Document) -> Iterator[Name]:
    """Definitions that stand before the place, or in files that are used."""
    for name in document.module.names(KINDS[sort]):
        found = document.module.find(name)
        here = found is not None and found[1] is document.module
        if found and not (here and found[0].span.end > place.item_start):
            yield Name(name, sort, found[0].span.one_line)


def states(place: Place, document: Document) -> Iterator[Name]:
    """What a profile may have in place of a precondition; a param has none."""
    found = document.module.find(str(place.words[-2]))
    if found and isinstance(found[0], tree.Precondition):
        yield from defined("precondition", place, document)


def metrics(place: Place, document: Document) -> Iterator[Name]:
    """Metrics, also of each direction and of each stream that the test names."""
    for metric in METRICS:
        yield Name(metric, "metric", METRIC_MEANINGS.get(metric, ""))
    for percentile in PERCENTILES:
        yield Name(percentile, "metric", PERCENTILE_MEANING)
    whole = [one for one in (*METRICS, *PERCENTILES) if one not in HOST]
    for prefix in (*COUNTED, *streams(place, document)):
        few = [one for one in whole if prefix not in SYNCS or one not in MOVED]
        yield from (Name(f"{prefix}.{one}", "metric", f"of {prefix}") for one in few)


def latencies(place: Place, document: Document) -> Iterator[Name]:
    """What a heatmap draws over time: all latencies, or those of a part."""
    yield Name(LATENCY, "metric", "all latencies, over time")
    for prefix in (*COUNTED, *streams(place, document)):
        yield Name(f"{prefix}.{LATENCY}", "metric", f"of {prefix}, over time")


def streams(place: Place, document: Document) -> list[str]:
    """The streams of the workloads that are named around a place."""
    words = set(re.findall(r"[\w.]+", place.item))
    found: list[str] = []
    for name in document.module.names(tree.Workload):
        known = document.module.find(name)
        if name in words and known and isinstance(known[0], tree.Workload):
            found += [stream.name.text for stream in known[0].streams]
    return list(dict.fromkeys(found))


def varied(place: Place) -> list[str]:
    """The axes of the test around a place."""
    found = (name for hit in VARIED.finditer(place.item) for name in _listed(hit[1]))
    return list(dict.fromkeys(found))


def varying(text: str) -> list[str]:
    """The names of the last `vary` of a text."""
    found = [hit[1] for hit in VARIED.finditer(text)]
    return _listed(found[-1]) if found else []


def listed(place: Place, axis: str) -> list[str]:
    """The values that the test around a place gives an axis, ends of ranges too."""
    rows = re.findall(rf"\bvary\s+{re.escape(axis)}\s+in\s+([^\n]*)", place.item)
    entries = [entry for row in rows for entry in row.split(",")]
    words = [word for entry in entries for word in entry.split("..")]
    return [found[0] for word in words if (found := VALUE.match(word.strip()))]


def _listed(names: str) -> list[str]:
    return [name for one in names.strip("() \n").split(",") if (name := one.strip())]


def value_of(name: str, document: Document) -> Quantity | None:
    """What a param of that name comes to."""
    found = document.module.find(name)
    if not found or not isinstance(found[0], tree.Param):
        return None
    findings = Findings()
    with findings.suppressed():
        return Parameters(findings).value(found[0], found[1])


def files(written: str, document: Document) -> Iterator[Name]:
    """The files that a plan may use, as it would write them."""
    own = installed_plans()
    for name in dict.fromkeys(document.search.known()):
        if name.startswith(written) and name != document.path.name:
            suite = (own / name).is_file()
            yield Name(name, "file", "comes with ioplan" if suite else "yours")
