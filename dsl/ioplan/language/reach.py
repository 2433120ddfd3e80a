"""Which params decide something: those that the tests of a plan reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from ioplan.language import tree
from ioplan.language.module import Definition, Module


def reached(main: Module) -> set[int]:
    """What tests use, also through what they name, each by its identity."""
    found: set[int] = set()
    todo: list[tuple[tree.Test | Definition, Module]] = [
        (item, main) for item in main.file.items if isinstance(item, tree.Test)
    ]
    while todo:
        node, module = todo.pop()
        for name in _names(node):
            known = module.find(name)
            if known and id(known[0]) not in found:
                found.add(id(known[0]))
                todo.append(known)
    return found


def used_params(main: Module) -> dict[str, tuple[tree.Param, Module]]:
    """The params that tests use, by the names that they have in the main file."""
    used = reached(main)
    found = {name: main.find(name) for name in main.names(tree.Param)}
    return {
        name: (one[0], one[1])
        for name, one in found.items()
        if one and isinstance(one[0], tree.Param) and id(one[0]) in used
    }


def _names(node: tree.Test | Definition) -> Iterator[str]:
    """The words that may stand for a definition; a test's title does not."""
    parts: list[object] = [node.statements if isinstance(node, tree.Test) else node]
    while parts:
        part = parts.pop()
        if isinstance(part, tree.Word | tree.Atom):
            yield part.text
        elif isinstance(part, tuple):
            parts += part
        elif isinstance(part, tree.Node):
            parts += [getattr(part, field.name) for field in fields(part)]
