"""What is at a place: a word's reference, a name's definition, a value's base unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from ioplan.language import (
    CHARTS,
    CLAUSES,
    METRIC_MEANINGS,
    METRICS,
    PERCENTILE_MEANING,
    Clause,
    Findings,
    MetricError,
    Parameters,
    Quantity,
    QuantityError,
    Span,
    Statement,
    clause_table,
    parse_metric,
    parse_quantity,
    statement_table,
)
from ioplan.language.syntax import tree
from ioplan_editor.complete.keywords import clause_text
from ioplan_editor.complete.place import Place
from ioplan_editor.document import Document, nodes_at
from ioplan_editor.look.occurrences import Occurrence, occurrence_at
from ioplan_editor.look.workloads import workload_text

WORD = re.compile(r"[\w.%/]+")
PHRASE = re.compile(
    "|".join(rf"\b{re.escape(word)}\b" for word in statement_table.BY_WORD)
)
BASE_UNITS = {"size": "B", "time": "ns", "bandwidth": "B/s"}


class Hover(Struct, frozen=True):
    """Markdown on a place of the text."""

    span: Span
    markdown: str


def hover(document: Document, offset: int) -> Hover | None:
    """What can be said of a place, the most exact first."""
    if Place(document.text, offset).in_comment():
        return None
    named = _named(document, offset)
    if named and (text := _definition(named, document)):
        return Hover(named.span, text)
    nodes = nodes_at(document.file, offset)
    for say in (_metric, _chart, _field, _file, _quantity, _clause, _statement):
        found = say(nodes, document, offset)
        if found:
            return found
    return None


def _named(document: Document, offset: int) -> Occurrence | None:
    """The name at a place; at a prefix the name behind it."""
    found = occurrence_at(document, offset)
    if found and found.symbol.sort == "alias" and not found.is_definition:
        return occurrence_at(document, found.span.end + 1)
    return found


def _definition(named: Occurrence, document: Document) -> str:
    """What a name stands for, with the comment above its definition."""
    node = named.node
    if node is None:
        return ""
    parts = [f"```ioplan\n{node.span.text}\n```", comment_above(node.span)]
    if isinstance(node, tree.Param):
        parts += _values(node, named.symbol.name, document)
    elif isinstance(node, tree.Workload):
        parts.append(workload_text(node, document))
    if named.symbol.path != document.path:
        parts.append(f"in {node.span.source.name}")
    return "\n\n".join(part for part in parts if part)


def comment_above(span: Span) -> str:
    """The comment right above a definition."""
    rows = span.source.text[: span.start].rstrip(" \t").split("\n")[:-1]
    found: list[str] = []
    while rows and rows[-1].lstrip().startswith("#"):
        found.append(rows.pop().lstrip("# \t"))
    return " ".join(reversed(found))


def _values(node: tree.Param, name: str, document: Document) -> Iterator[str]:
    """A param's value where it is another's, and those of the profiles."""
    findings = Findings()
    with findings.suppressed():
        value = Parameters(findings).value(node, document.module_of(node))
    if value:
        yield f"= {value.text}{_in_base_units(value)}"
    for profile in document.items(tree.Profile):
        for setting in profile.settings:
            if setting.name.text.rpartition(".")[2] == name:
                yield f"{setting.value.text} in the profile {profile.name.text}"


def _metric(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    owner, word = _last_two(nodes)
    if not isinstance(word, tree.Word):
        return None
    is_metric = (
        (isinstance(owner, tree.Expect | tree.Headline) and word is owner.metric)
        or (isinstance(owner, tree.Chart) and word in owner.metrics)
        or (isinstance(owner, tree.Clause) and owner.kind == "until")
    )
    return Hover(word.span, metric_text(word.text)) if is_metric else None


def metric_text(text: str) -> str:
    """What a metric is, and in what unit."""
    name = text if text in METRICS else text[text.find("p") :]
    name = next((one for one in METRICS if text.endswith(f".{one}")), name)
    try:
        metric = parse_metric(name)
    except MetricError:
        return f"`{text}`"
    about = METRIC_MEANINGS.get(metric.name, PERCENTILE_MEANING)
    unit = f" ({metric.unit})" if metric.unit else ""
    return f"`{text}`: {about}{unit}"


def _chart(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    owner, word = _last_two(nodes)
    if isinstance(owner, tree.Chart) and word is owner.kind:
        kind = CHARTS.get(owner.kind.text)
        return Hover(word.span, f"`{kind.name}`: {kind.meaning}") if kind else None
    return None


def _field(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    """An axis that is a field of the workload is its clause."""
    owner, word = _last_two(nodes)
    axes = (tree.Vary, tree.Comparison, tree.Chart, tree.After)
    if not isinstance(owner, axes) or not isinstance(word, tree.Word):
        return None
    clause = clause_table.BY_WORD.get(word.text.rpartition(".")[2])
    return Hover(word.span, clause_markdown(clause)) if clause else None


def _file(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    """What a file that is used says of itself, and what it defines."""
    owner, word = _last_two(nodes)
    if not isinstance(owner, tree.Use) or word is not owner.path:
        return None
    path = document.used_path(owner)
    if path is None:
        return None
    module = document.modules[path]
    about = comment_above(Span(module.source, *[_first_code(module.source.text)] * 2))
    return Hover(word.span, f"{about}\n\ndefines: {', '.join(module.own)}".strip())


def _first_code(text: str) -> int:
    """Where the comment that a text begins with ends."""
    rows = text.splitlines(keepends=True)
    head = takewhile(lambda row: row.startswith("#"), rows)
    return sum(map(len, head))


def _quantity(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    atom = nodes[-1] if nodes else None
    if not isinstance(atom, tree.Atom) or atom.kind == "name":
        return None
    try:
        value = parse_quantity(atom.text)
    except QuantityError as error:
        return Hover(atom.span, f"{error}. {error.help}")
    base = _in_base_units(value)
    return Hover(atom.span, f"`{value.text}`{base}") if base else None


def _in_base_units(value: Quantity) -> str:
    unit = BASE_UNITS.get(value.kind, "")
    if value.kind == "mix":
        return f": {value.value:g} % reads, {100 - value.value:g} % writes"
    return f" = {value.value:,} {unit}" if unit else ""


def _clause(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    """A clause with its reference, its default and fio's word for it."""
    clauses = [node for node in nodes if isinstance(node, tree.Clause)]
    if not clauses:
        return None
    node = clauses[-1]
    if node.kind == "value" and "pass" in node.span.text:
        return Hover(node.span, "so often the capacity of the target, or the region")
    entry = _entry(node)
    if entry:
        return Hover(node.span, clause_markdown(entry))
    timing = statement_table.BY_WORD.get(node.kind)
    return Hover(node.span, statement_markdown(timing)) if timing else None


def _entry(node: tree.Clause) -> Clause | None:
    if node.kind == "value":
        kind = "mix" if node.atoms[0].kind == "mix" else "size"
        return clause_table.BY_WORD["read" if kind == "mix" else kind]
    named = {"read sizes": "sizes", "write sizes": "sizes"}
    named |= {kind: f"on {kind}" for kind in ("hosts", "targets")}
    return clause_table.BY_WORD.get(named.get(node.kind, node.kind))


def clause_markdown(clause: Clause) -> str:
    """What the reference says, the default, and what fio calls it."""
    row = next((c.reference for c in _tellers(clause) if c.reference), None)
    forms, default = (row[0], row[2]) if row else (f"`{clause.word}`", "")
    parts = [forms, clause_text(clause)]
    parts += [f"Default: {default}."] if default else []
    words = ", ".join(f"`{word}`" for word in clause.fio)
    parts += [f"fio: {words}."] if words else []
    return "\n\n".join(part for part in parts if part)


def _tellers(clause: Clause) -> Iterator[Clause]:
    """The clause, else those of its slot that tell of it."""
    yield clause
    slot = clause_table.slot(clause.word)
    yield from (one for one in CLAUSES if clause_table.slot(one.word) == slot)


def statement_markdown(entry: Statement) -> str:
    """Each form with its meaning."""
    return "\n\n".join(f"{form}: {meaning}" for form, meaning in entry.forms.items())


def _statement(nodes: list[tree.Node], document: Document, offset: int) -> Hover | None:
    """The keyword under the cursor."""
    row = document.text.rfind("\n", 0, offset) + 1
    end = document.text.find("\n", offset)
    for found in PHRASE.finditer(
        document.text, row, end if end >= 0 else len(document.text)
    ):
        if found.start() <= offset <= found.end():
            entry = statement_table.BY_WORD[found[0]]
            span = document.span(found.start(), found.end())
            return Hover(span, statement_markdown(entry))
    return None


def _last_two(nodes: list[tree.Node]) -> tuple[tree.Node | None, tree.Node | None]:
    return (nodes[-2], nodes[-1]) if len(nodes) > 1 else (None, None)
