"""Values that a shell may complete: of the plan, the store, the lab and the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from ioplan.backends.backend import names
from ioplan.cli.commands.author.explain import words
from ioplan.cli.commands.author.templates import TEMPLATES
from ioplan.cli.inputs import plan_path
from ioplan.language.checker.modules import read_text
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Source
from ioplan.language.syntax.tree import Param, Profile, Test
from ioplan.planner.suites.suite import suite_names, suites
from ioplan.results.store.sessions import SessionFilter
from ioplan.results.store.store import Store, default_path
from ioplan.runner.lab.lab_file import read_lab

MOST_SESSIONS = 50
Found = Iterable[tuple[str, str]]
"""Values, each with what it is."""


class Typed(Struct, frozen=True):
    """What was typed before: the word to complete, and values by their keys."""

    word: str
    values: dict[str, list[str]]

    def last(self, key: str) -> str:
        """The last value of a parameter, or nothing."""
        return self.values.get(key, [""])[-1]


def values_of(kind: str, typed: Typed) -> list[tuple[str, str]]:
    """The values of a kind. An error is none: a prompt is no place to tell it."""
    try:
        return list(KINDS[kind](typed))
    except Exception:  # whatever is wrong with a plan, a store or a lab
        return []


def _plans(typed: Typed) -> Found:
    """Files and folders as typed so far, and the suites."""
    head, slash, _ = typed.word.rpartition("/")
    folder = Path(f"{head}{slash}" or ".").expanduser()
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and not path.name.startswith("."):
            yield f"{head}{slash}{path.name}/", "folder"
        elif path.suffix == ".ioplan":
            yield f"{head}{slash}{path.name}", "plan"
    yield from ((name, "suite") for name in suite_names())


def _suites(typed: Typed) -> Found:
    return ((one.name, one.title) for one in suites())


def _sessions(typed: Typed) -> Found:
    path = Path(typed.last("store") or default_path())
    yield "last", "the newest"
    if path.exists():
        with Store.open(path) as store:
            for one in store.overview(SessionFilter(limit=MOST_SESSIONS)):
                yield one.id, f"{one.plan}, {one.status}"


def _backends(typed: Typed) -> Found:
    return ((name, "backend") for name in names())


def _targets(typed: Typed) -> Found:
    """The lab's targets; where none fits, the shell offers files."""
    lab = read_lab(Path(typed.last("lab")) if typed.last("lab") else None)
    yield from (
        (name, one.path or one.serial or "") for name, one in lab.targets.items()
    )
    yield from ((name, ", ".join(members)) for name, members in lab.groups.items())


def _plan_items(typed: Typed) -> Iterable[object]:
    """What stands in the plan that was typed, right or wrong."""
    path = plan_path(Path(typed.last("plan") or typed.last("plans")))
    return parse(Source(str(path), read_text(path)))[0].items


def _profiles(typed: Typed) -> Found:
    items = _plan_items(typed)
    yield from ((one.name.text, "") for one in items if isinstance(one, Profile))
    yield "full", "the params' own values"


def _tests(typed: Typed) -> Found:
    items = _plan_items(typed)
    return ((one.title.text, "test") for one in items if isinstance(one, Test))


def _params(typed: Typed) -> Found:
    items = _plan_items(typed)
    params = (one for one in items if isinstance(one, Param))
    return ((f"{one.name.text}=", one.value.text) for one in params)


def _templates(typed: Typed) -> Found:
    return ((one.name, one.question) for one in TEMPLATES)


def _words(typed: Typed) -> Found:
    return ((word, "") for word in dict.fromkeys(words()))


KINDS: dict[str, Callable[[Typed], Found]] = {
    "plans": _plans,
    "suites": _suites,
    "sessions": _sessions,
    "backends": _backends,
    "targets": _targets,
    "profiles": _profiles,
    "tests": _tests,
    "params": _params,
    "templates": _templates,
    "words": _words,
}
