"""Definitions of the desk's tables."""

from __future__ import annotations


def table(name: str, columns: str, key: str) -> dict[str, str]:
    """`CREATE TABLE` by its name.

    Columns are texts, or of another type after `:`, and never null unless with `?`.
    """
    lines = [_column(one) for one in columns.split()]
    lines.append(f"PRIMARY KEY ({', '.join(key.split())})")
    return {name: f"CREATE TABLE {name} ({', '.join(lines)})"}


def _column(word: str) -> str:
    name, _, type = word.removesuffix("?").partition(":")
    null = "" if word.endswith("?") else " NOT NULL"
    return f"{name} {type or 'VARCHAR'}{null}"
