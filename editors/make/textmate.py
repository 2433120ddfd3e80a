"""Writes the TextMate grammar, for VS Code and others, out of ioplan's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ioplan.language.metric import METRICS
from ioplan.language.output_table import CHARTS
from ioplan.language.quantity import UNITS
from ioplan_editor.look.lexer import CLAUSES, KEYWORDS

PLACE = Path(__file__).parents[1] / "vscode/syntaxes/ioplan.tmLanguage.json"
ESCAPE = {"name": "constant.character.escape.ioplan", "match": r'\\["\\]'}


def words(some: tuple[str, ...]) -> str:
    """A pattern of whole words, which may be of several words."""
    longest = sorted(some, key=len, reverse=True)
    listed = "|".join(longest).replace(" ", r"\s+")
    return rf"\b(?:{listed})\b(?!\.)"


def grammar() -> dict[str, Any]:
    """Patterns in the order in which they are tried."""
    units = "|".join(sorted((u for u in UNITS if u), key=len, reverse=True))
    patterns = [
        ("comment.line.number-sign", r"#.*$"),
        ("constant.numeric.mix", r"\b\d[\d_.]*\s*/\s*\d[\d_.]*"),
        ("constant.numeric", rf"\b\d[\d_]*(?:\.\d+)?(?:[ \t]*(?:{units})(?!\w))?"),
        ("keyword.operator", r"<=|>=|==|!=|<|>|=|\.\."),
        ("support.variable", rf"\b(?:\w+\.)*(?:{'|'.join(METRICS)}|p\d+(?:\.\d+)?)\b"),
        ("support.function", rf"(?<=\bchart)\s+(?:{'|'.join(CHARTS)})\b"),
        ("support.type.property-name", words(CLAUSES)),
        ("keyword.control", words(KEYWORDS)),
    ]
    return {
        "name": "ioplan",
        "scopeName": "source.ioplan",
        "fileTypes": ["ioplan"],
        "patterns": [
            {
                "name": "string.quoted.double.ioplan",
                "begin": '"',
                "end": '"|$',
                "patterns": [ESCAPE],
            },
            *({"name": f"{name}.ioplan", "match": match} for name, match in patterns),
        ],
    }


def files() -> dict[Path, str]:
    """What is written, and where."""
    return {PLACE: json.dumps(grammar(), indent=1, ensure_ascii=False) + "\n"}


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, "utf-8")
