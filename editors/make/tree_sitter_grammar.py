"""Writes the tree-sitter grammar and its highlights out of ioplan's own grammar.

`grammar.lark` with the clause table has every rule and every word; a rule here is a
rule there, by the same name, but that names before a `=` and others are one token here.
`make parser` makes C of what this writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from lark.load_grammar import load_grammar

from ioplan.language.quantity import UNITS
from ioplan.language.syntax.grammar import CLAUSE_WORDS, text
from ioplan.language.syntax.reader import pattern_of, words_of

FOLDER = Path(__file__).parents[1] / "tree-sitter-ioplan"
LOOKAHEAD = re.compile(r"\(\?!(?:[^()]|\([^()]*\))*\)")
NAMES = ("NAME", "BOUND", "SETTING")
TOKENS = ("QUANTITY", "MIX", "STRING", "OPERATOR")
THEN = "_THEN"
"""With its comma, as there: behind a bare one, any clause may begin."""
NAME = r"[A-Za-z_]\w*(\.\w+)*"
APART = "|".join(unit for unit in UNITS if len(unit) > 1)
QUANTITY = (
    r"[0-9](_?[0-9])*(\.[0-9](_?[0-9])*)?"
    rf"([ \t]*%|[ \t]+({APART})|[A-Za-zµ]\w*(\/s)?)?"
)
"""A unit of one letter stands close by: behind a blank it may begin a word."""
HEAD = "; Written by editors/make/tree_sitter_grammar.py out of the clause table.\n\n"

Rule = dict[str, Any]


def grammar() -> Rule:
    """The grammar as `tree-sitter generate` reads it."""
    rules = Rules()
    comment = {"type": "PATTERN", "value": "#[^\\n]*"}
    made = {"file": rules.made.pop("start"), **rules.made, "comment": comment}
    extras = [{"type": "PATTERN", "value": r"\s"}, symbol("comment")]
    return {
        "name": "ioplan",
        "word": "name",
        "rules": made,
        "extras": extras,
        "conflicts": [],
        "precedences": [],
        "externals": [],
        "inline": [],
        "supertypes": [],
    }


class Rules:
    """The rules of the grammar, translated; `-> NAME` makes a rule of its own."""

    def __init__(self) -> None:
        loaded, _ = load_grammar(text(), "grammar.lark", [], False)
        self.made: dict[str, Rule] = {}
        self.terminals = {name: tree for name, (tree, _), *_ in loaded.term_defs}
        for name, _, tree, _ in loaded.rule_defs:
            self.made[str(name).lstrip("?")] = self.of(tree)
        # `as NAME` behind a phase is of that, and not of the run: as lark reads it
        phase = self.made["phase"]
        self.made["phase"] = {"type": "PREC_RIGHT", "value": 0, "content": phase}
        self.made["name"] = {"type": "PATTERN", "value": NAME}
        for name in TOKENS:
            self.made[name.lower()] = self.token(name)

    def of(self, node: Any) -> Rule:
        """What a part of a rule is in tree-sitter's words."""
        kind = getattr(node, "data", None)
        if kind == "expansions":
            return joined("CHOICE", [self.of(one) for one in node.children])
        if kind == "expansion":
            return joined("SEQ", [self.of(one) for one in node.children])
        if kind == "alias":
            return self.alias(*node.children)
        if kind == "maybe":
            return optional(self.of(node.children[0]))
        if kind == "expr":
            return repeated(self.of(node.children[0]), str(node.children[1]))
        if kind in ("value", "literal"):
            return self.of(node.children[0])
        return self.leaf(node)

    def alias(self, content: Any, name: Any) -> Rule:
        if name is None:
            return self.of(content)
        self.made[str(name.name)] = self.of(content)
        return symbol(str(name.name))

    def leaf(self, node: Any) -> Rule:
        """A rule's name, a terminal's, or a word as it is."""
        name = getattr(node, "name", None)
        if name is None:
            return {"type": "STRING", "value": str(node)[1:-1]}
        if type(node).__name__ == "NonTerminal":
            return symbol(str(name))
        if name in NAMES:
            return symbol("name")
        if name in TOKENS:
            return symbol(name.lower())
        if name == THEN:
            comma = {"type": "PATTERN", "value": r",\s*then"}
            return {"type": "ALIAS", "content": comma, "named": False, "value": "then"}
        words = [words_in_turn(word) for word in words_of(name)]
        assert words, f"the terminal {name} has no words"
        return joined("CHOICE", words)

    def token(self, name: str) -> Rule:
        """A pattern, without the look-aheads that tree-sitter has not."""
        if name == "QUANTITY":
            return {"type": "PATTERN", "value": QUANTITY}
        plain = re.sub(r"\(\?:", "(", LOOKAHEAD.sub("", pattern_of(name)))
        return {"type": "PATTERN", "value": plain}


def symbol(name: str) -> Rule:
    """A rule by its name."""
    return {"type": "SYMBOL", "name": name}


def joined(kind: str, members: list[Rule]) -> Rule:
    """Several parts; one alone is itself."""
    return members[0] if len(members) == 1 else {"type": kind, "members": members}


def optional(content: Rule) -> Rule:
    """A part that may be absent."""
    return {"type": "CHOICE", "members": [content, {"type": "BLANK"}]}


def repeated(content: Rule, operator: str) -> Rule:
    """`*`, `+` and `?`."""
    if operator == "?":
        return optional(content)
    return {"type": "REPEAT1" if operator == "+" else "REPEAT", "content": content}


def words_in_turn(words: str) -> Rule:
    """One word, or several as one, with whatever blanks are between."""
    if " " not in words:
        return {"type": "STRING", "value": words}
    pattern = {"type": "PATTERN", "value": words.replace(" ", r"\s+")}
    return {"type": "ALIAS", "content": pattern, "named": False, "value": words}


def highlights(made: Rule) -> str:
    """The queries that colour each word."""
    words = sorted({w for w in strings(made["rules"]) if w.replace(" ", "").isalpha()})
    parts_of = {part for word in CLAUSE_WORDS for part in word.split()}
    clauses = {*CLAUSE_WORDS, *parts_of, "read sizes", "write sizes"} - {
        "on",
        "write",
        "for",
        "random",
    }
    own = (Path(__file__).with_name("highlights.scm")).read_text("utf-8")
    listed = {
        "@property": [word for word in words if word in clauses],
        "@keyword": [word for word in words if word not in clauses],
    }
    alone = {r["value"]: name for name, r in made["rules"].items() if _is_word(r)}
    parts = ["\n".join(_query(w, alone) for w in some) for some in listed.values()]
    said = [f"[\n{p}\n] {c}\n" for p, c in zip(parts, listed, strict=True)]
    return HEAD + "\n".join([*said, own])


def _is_word(rule: Rule) -> bool:
    """Whether it is one word only, and so a node of its own name."""
    return rule["type"] == "STRING"


def _query(word: str, alone: dict[str, str]) -> str:
    return f"({alone[word]})" if word in alone else f'"{word}"'


def strings(part: Any) -> list[str]:
    """All words of the grammar."""
    if isinstance(part, dict):
        own = [part["value"]] if part.get("type") in ("STRING", "ALIAS") else []
        return own + [word for one in part.values() for word in strings(one)]
    return (
        [word for one in part for word in strings(one)]
        if isinstance(part, list)
        else []
    )


def files() -> dict[Path, str]:
    """What is written, and where."""
    made = grammar()
    return {
        FOLDER / "grammar.json": json.dumps(made, indent=1, ensure_ascii=False) + "\n",
        FOLDER / "queries/highlights.scm": highlights(made),
    }


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, "utf-8")
