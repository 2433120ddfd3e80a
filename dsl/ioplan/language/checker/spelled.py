"""A step as it is shown: the values stand where the plan has their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ioplan.language.checker.scope import Scope
from ioplan.language.quantity import Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Source, Span


def spelled(span: Span, atoms: Iterable[tree.Atom], scope: Scope) -> str:
    """What stands at `span` in one line; a name that an axis varies stays."""
    text = span.text
    named = [atom for atom in atoms if _is_of_params(atom, scope)]
    for atom in sorted(named, key=lambda atom: -atom.span.start):
        value = scope.amount(atom)
        if isinstance(value, Quantity):
            before, after = atom.span.start - span.start, atom.span.end - span.start
            text = text[:before] + value.text + text[after:]
    return Span(Source("", text), 0, len(text)).one_line


def _is_of_params(atom: tree.Atom, scope: Scope) -> bool:
    names = list(tree.names_in(atom))
    return bool(names) and all(map(scope.param, names))


def atoms_of(spec: tree.Spec) -> Iterator[tree.Atom]:
    """All values of a workload and its timing."""
    return (atom for clause in spec.clauses for atom in clause.atoms)


def atoms_in(node: object) -> Iterator[tree.Atom]:
    """All values anywhere in a statement."""
    if isinstance(node, tree.Atom):
        yield node
    elif isinstance(node, tree.Node):
        for name in node.__struct_fields__:
            yield from atoms_in(getattr(node, name))
    elif isinstance(node, tuple):
        for part in node:
            yield from atoms_in(part)
