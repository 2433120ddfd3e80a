"""The tables of grammar.lark: made by lark, and kept in grammar.json beside it.

A package has them from its build, a checkout from its first use and again after each
change of the grammar. Where they cannot be kept, they are made each time.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("grammar.json")

WORD_END = r"(?!\.?\w)"
"""Where a name ends: it has letters, digits, `_`, and dots between them."""
ENDS_IN_A_LETTER = re.compile(r"[a-z]\Z")

Tables = dict[str, Any]
"""What `lalr.Parser` takes, of JSON's types only; `grammar` is the text they are of."""


def tables(grammar: str) -> Tables:
    """The tables of the grammar as it is now."""
    with suppress(OSError, ValueError):
        kept = json.loads(KEPT.read_bytes())
        if isinstance(kept, dict) and kept.get("grammar") == grammar:
            return kept
    made = made_tables(grammar)
    with suppress(OSError):
        keep(made, KEPT)
    return made


def keep(made: Tables, place: Path) -> None:
    """Write tables so that no reader ever sees half of them. Raises OSError."""
    fresh = place.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(made, separators=(",", ":")), encoding="utf-8")
    fresh.replace(place)


def made_tables(grammar: str) -> Tables:
    """The tables of a grammar's text, out of what lark writes for its own parsers."""
    from lark import Lark  # noqa: PLC0415  takes longer than a whole check
    from lark.grammar import Rule  # noqa: PLC0415
    from lark.lexer import TerminalDef  # noqa: PLC0415

    lark = Lark(
        grammar, parser="lalr", maybe_placeholders=True, edit_terminals=whole_words
    )
    data, memo = lark.memo_serialize([TerminalDef, Rule])
    ignored = data["parser"]["lexer_conf"]["ignore"]
    found = [one for one in memo.values() if one["__type__"] == "TerminalDef"]
    terminals = {one["name"]: one for one in sorted(found, key=_precedence)}
    numbers = [key for key, one in memo.items() if one["__type__"] == "Rule"]
    numbers.sort(key=lambda number: json.dumps(_rule(memo[number])))
    table = data["parser"]["parser"]
    order = _order(table)
    rows = _rows(table, order, numbers)
    words = [_words(row, terminals) for row in rows]
    contexts = list({json.dumps(context): context for context in words}.values())
    return {
        "grammar": grammar,
        "blank": f"(?:{'|'.join(terminals[n]['pattern']['value'] for n in ignored)})*",
        "terminals": {name: _pattern(one) for name, one in terminals.items()},
        "rules": [_rule(memo[number]) for number in numbers],
        "states": rows,
        "contexts": contexts,
        "context_of": [contexts.index(context) for context in words],
        "first": order.index(table["start_states"]["start"]),
        "last": order.index(table["end_states"]["start"]),
    }


def whole_words(terminal: Any) -> None:
    """Let what ends in a letter end only where a name would, and come before names.

    Where no name may stand, a lexer would else find `by` in `bytes`.
    """
    from lark.lexer import PatternRE  # noqa: PLC0415

    pattern = terminal.pattern.value
    if ENDS_IN_A_LETTER.search(pattern):
        terminal.pattern = PatternRE(f"(?:{pattern}){WORD_END}")
        terminal.priority = terminal.priority or 1


def _precedence(terminal: dict[str, Any]) -> tuple[int, int, int, str]:
    """Which of several terminals that match is meant: lark's rule."""
    pattern = terminal["pattern"]
    literal = pattern["__type__"] == "PatternStr"
    longest = len(pattern["value"]) if literal else pattern["_width"][1]
    name = terminal["name"]
    return -terminal["priority"], -longest, -len(pattern["value"]), name


def _pattern(terminal: dict[str, Any]) -> tuple[str, bool]:
    """What a terminal looks like, and whether literally."""
    pattern = terminal["pattern"]
    assert not pattern["flags"], "the parser knows no flags"
    return pattern["value"], pattern["__type__"] == "PatternStr"


def _order(table: dict[str, Any]) -> list[int]:
    """The states as one comes by them: lark numbers them anew each time."""
    order: list[int] = [table["start_states"]["start"]]
    for state in order:
        actions = _by_symbol(table, state).values()
        order += [to for reduces, to in actions if not reduces and to not in order]
    return order


def _by_symbol(table: dict[str, Any], state: int) -> dict[str, Any]:
    names = table["tokens"]
    row = {names[key]: action for key, action in table["states"][state].items()}
    return dict(sorted(row.items()))


def _rows(
    table: dict[str, Any], order: list[int], numbers: list[int]
) -> list[dict[str, int]]:
    """For each state and symbol: the next state, or a rule as -1 - its index."""
    rule = {number: -1 - place for place, number in enumerate(numbers)}
    place = {state: index for index, state in enumerate(order)}
    return [
        {
            symbol: rule[to["@"]] if reduces else place[to]
            for symbol, (reduces, to) in _by_symbol(table, state).items()
        }
        for state in order
    ]


def _words(
    row: dict[str, int], terminals: dict[str, dict[str, Any]]
) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The terminals to try in a state, and which of their words are keywords."""
    here = [name for name in terminals if name in row]
    keywords: dict[str, dict[str, str]] = {}
    for name in here:
        pattern, literal = _pattern(terminals[name])
        for other in [] if literal else here:
            word, is_word = _pattern(terminals[other])
            same = terminals[name]["priority"] == terminals[other]["priority"]
            if is_word and same and _matched(pattern, word) == word:
                keywords.setdefault(name, {})[word] = other
    inside = {other for words in keywords.values() for other in words.values()}
    return [name for name in here if name not in inside], keywords


def _matched(pattern: str, text: str) -> str:
    found = re.match(pattern, text)
    return found[0] if found else ""


def _rule(rule: dict[str, Any]) -> list[Any]:
    """A rule as `lalr.Rule` has it."""
    symbols, origin = rule["expansion"], rule["origin"]["name"]
    gaps = _gaps(rule["options"]["empty_indices"] or [False] * len(symbols))
    take, absent = [], 0
    for index, symbol in enumerate(symbols):
        absent += gaps[index]
        if not symbol.get("filter_out"):
            inline = "filter_out" not in symbol and symbol["name"].startswith("_")
            take.append((index, inline, absent))
            absent = 0
    method = "" if origin.startswith("_") else rule["alias"] or origin
    absent += gaps[len(symbols)]
    only_child = rule["options"]["expand1"] and not rule["alias"]
    return [origin, len(symbols), method, take, absent, only_child]


def _gaps(absent: list[bool]) -> list[int]:
    """How many absent options come before each symbol, and behind the last."""
    return [len(part) for part in "".join("-+"[one] for one in absent).split("-")]
