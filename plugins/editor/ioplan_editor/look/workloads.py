"""A workload as it is in the end: with its base's clauses and its params' values."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language import Findings, Module, Parameters, slot
from ioplan.language.syntax import tree
from ioplan_editor.document import Document

MOST_BASES = 20
HEAD = ("pattern", "size", "mix")


def workload_text(node: tree.Workload, document: Document) -> str:
    """What it comes to, if that is more than its definition says."""
    streams = list(_streams(node, document))
    shown = "\n".join(f"{name}{text}" for name, text in streams)
    plain = " ".join(node.span.one_line.split("=", 1)[-1].split())
    if not streams or shown == plain:
        return ""
    return f"resolved:\n```ioplan\n{shown}\n```"


def _streams(node: tree.Workload, document: Document) -> Iterator[tuple[str, str]]:
    module = document.module_of(node)
    if node.spec:
        for name, clauses in _resolved(node.spec, module, 0).items():
            yield (f"{name} = " if name else ""), _written(clauses)
    for stream in node.streams:
        for clauses in _resolved(stream.spec, module, 0).values():
            yield f"{stream.name.text} = ", _written(clauses)


Clauses = dict[str, str]
"""What is said, by what it is about."""


def _resolved(spec: tree.Spec, module: Module, depth: int) -> dict[str, Clauses]:
    """The clauses of each stream, by the name of the stream."""
    streams: dict[str, Clauses] = {"": {}}
    for clause in spec.clauses:
        if clause.kind != "base":
            key, text = _slot(clause, module), _text(clause, module)
            streams = {name: said | {key: text} for name, said in streams.items()}
        elif depth < MOST_BASES:
            streams = _base(clause.words[0].text, module, depth) or streams
    return streams


def _base(name: str, module: Module, depth: int) -> dict[str, Clauses]:
    found = module.find(name)
    if not found or not isinstance(found[0], tree.Workload):
        return {}
    node, inside = found[0], found[1]
    if node.spec:
        return _resolved(node.spec, inside, depth + 1)
    return {
        stream.name.text: next(iter(_resolved(stream.spec, inside, depth + 1).values()))
        for stream in node.streams
    }


def _slot(clause: tree.Clause, module: Module) -> str:
    if clause.kind != "value":
        return slot(clause.kind)
    text = _text(clause, module)
    return "mix" if "/" in text else "size"


def _text(clause: tree.Clause, module: Module) -> str:
    """The clause with values in the place of names."""
    text, start = clause.span.text, clause.span.start
    for atom in sorted(clause.atoms, key=lambda atom: -atom.span.start):
        value = _value(atom, module) if atom.kind == "name" else None
        if value:
            before, after = atom.span.start - start, atom.span.end - start
            text = text[:before] + value + text[after:]
    return " ".join(text.split())


def _value(atom: tree.Atom, module: Module) -> str | None:
    found = module.find(atom.text)
    if not found or not isinstance(found[0], tree.Param):
        return None
    findings = Findings()
    with findings.suppressed():
        value = Parameters(findings).value(found[0], found[1])
    return value.text if value else None


def _written(said: Clauses) -> str:
    head = [said[key] for key in HEAD if key in said]
    rest = [text for key, text in said.items() if key not in HEAD]
    return ", ".join([" ".join(head), *rest])
