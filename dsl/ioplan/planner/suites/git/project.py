"""The texts of ioplan.toml and ioplan.lock: what is wanted, and what was taken."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ioplan.language.search.packages import NAME, SuiteError
from ioplan.language.search.search_path import PROJECT, Locked, project_folder
from ioplan.planner.suites.git.address import GitAddress, address_of
from ioplan.planner.suites.git.fetch import Fetched

HEAD = (
    "# Written by ioplan add and ioplan update: the commit of each suite, and the\n"
    "# SHA-256 of its files. Keep it, and the folder suites, under version control.\n"
)
OWN_KEYS = ("git", "ref", "folder")


def project_here() -> Path:
    """The folder of the project around this one; else this one, to become one."""
    found = project_folder(Path("plan.ioplan"))
    return found[0] if found else Path.cwd()


def wanted(project: Path) -> dict[str, GitAddress]:
    """The suites that ioplan.toml names. Raises SuiteError."""
    path = project / PROJECT
    try:
        suites = tomllib.loads(path.read_text("utf-8")).get("suites", {})
        return {
            name: address_of(one["git"], one["ref"], one.get("folder", ""))
            for name, one in suites.items()
            if NAME.fullmatch(name)
        }
    except FileNotFoundError:
        return {}
    except (OSError, SuiteError) as error:
        raise SuiteError(f"{path}: {error}") from error
    except (
        *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
    ) as error:
        raise SuiteError(f"{path} is wrong: {error}; see ioplan add") from error


def with_wanted(text: str, name: str, address: GitAddress) -> str:
    """The text of an ioplan.toml with a suite; all else in it stays as it is.

    Raises SuiteError where the file is written in a way that is not known here.
    """
    said = {"git": address.url, "ref": address.ref, "folder": address.folder}
    rows = [f"{key} = {_quoted(value)}" for key, value in said.items() if value]
    table = "\n".join([f"[suites.{name}]", *rows, ""])
    changed = _with_table(text, name, table)
    try:
        found = tomllib.loads(changed)["suites"][name]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _by_hand(table) from error
    if {key: found.get(key, "") for key in said} != said:
        raise _by_hand(table)
    return changed


def _with_table(text: str, name: str, table: str) -> str:
    mine = re.compile(
        rf"^\[suites\.{re.escape(name)}\]\n(?:(?!\[).*\n?)*", re.MULTILINE
    )
    if found := mine.search(text):
        kept = found[0].splitlines()[1:]
        more = [one for one in kept if one.split("=")[0].strip() not in OWN_KEYS]
        return (
            text[: found.start()]
            + "\n".join([table.rstrip(), *more, ""])
            + text[found.end() :]
        )
    before = f"{text.rstrip()}\n\n" if text.strip() else ""
    return before + table


def _by_hand(table: str) -> SuiteError:
    return SuiteError(
        f"{PROJECT} cannot be edited automatically; set in it, and then run `ioplan "
        f"update --take`:\n\n{table}"
    )


def lock_text(suites: Iterable[Locked]) -> str:
    """The text of an ioplan.lock."""
    return "\n".join([HEAD, *map(_entry, sorted(suites, key=lambda one: one.name))])


def _entry(one: Locked) -> str:
    said = {key: getattr(one, key) for key in ("git", "ref", "folder", "commit")}
    return f"[{one.name}]\n{_pairs(said)}\n[{one.name}.files]\n{_pairs(one.files)}"


def _pairs(values: Mapping[str, str]) -> str:
    return "".join(f"{_key(k)} = {_quoted(v)}\n" for k, v in sorted(values.items()))


def _key(name: str) -> str:
    return name if re.fullmatch(r"\w+", name, re.ASCII) else _quoted(name)


def _quoted(text: str) -> str:
    """A basic string of TOML, which escapes as JSON does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def locked(name: str, address: GitAddress, found: Fetched) -> Locked:
    """What the lock says of a suite once it is taken."""
    words = address.url, address.ref, address.folder, found.commit
    return Locked(name, *words, found.digests)
