"""`ioplan suites check`: whether a suite is what was published under its version."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.sessions.stores import results_at
from ioplan.core.text import did_you_mean
from ioplan.language.search.packages import SuiteError
from ioplan.planner.suites.published import (
    FILE,
    MOST_BYTES,
    Index,
    faults,
    index_of,
    known_as,
)
from ioplan.planner.suites.source import (
    PYPROJECT,
    cost_table,
    readme_of,
    source_of,
    with_table,
)
from ioplan.planner.suites.suite import Collection, collections

MOST_SHOWN = 20


def check_suite(
    suite: str, index: Path | None, session: str | None, store: str | None
) -> int:
    """1 where runs are not those of the index. Raises UsageError."""
    try:
        folder = Path(suite)
        is_source = (folder / PYPROJECT).is_file()
        found = source_of(folder) if is_source else _installed(suite)
        published = _index(index or found.folder / FILE)
        if found.pinned:  # a commit has no version of its own, and any name
            found = replace(found, name=published.suite, version=published.version)
        if session:
            return _check_session(published, session, store)
        wrong = list(faults(published, found))
        if is_source:
            wrong += _readme_faults(folder, found)
    except SuiteError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(
            f"cannot read {str(error.filename)!r}: {error.strerror}"
        ) from error
    if not wrong:
        runs = len(published.present)
        print_line(f"{found.name} {found.version}: {runs} runs are as published")
    return _told(wrong)


def _installed(name: str) -> Collection:
    known = {one.name: one for one in collections()}
    if name not in known:
        raise UsageError(
            f"there is no suite {name!r}{did_you_mean(name, known)}; name one of "
            f"{', '.join(known)}, or the folder of a package with its {PYPROJECT}"
        )
    return known[name]


def _index(path: Path) -> Index:
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        if len(text) > MOST_BYTES:
            raise SuiteError("it is too large for one")
        return index_of(text.decode())
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def _readme_faults(folder: Path, source: Collection) -> list[str]:
    readme = readme_of(folder)
    if with_table(readme, cost_table(source)) == readme:
        return []
    return [f"the table of README.md is old: ioplan suites publish {folder}"]


def _check_session(published: Index, key: str, store: str | None) -> int:
    """Which versions a session's runs are of."""
    with results_at(store) as results:
        id = results.session(key).id
        runs = {
            record.run_id: record
            for record in results.records(id)
            if record.asked.kind == "run"
        }
    known = known_as(published, runs)
    wrong = [
        f"{runs[run_id].asked.test}: {run_id} is not published"
        for run_id, entry in known.items()
        if entry is None
    ]
    versions = sorted({entry.versions for entry in known.values() if entry})
    of = f"{published.suite} {', '.join(versions)}" if versions else "nothing published"
    print_line(
        f"session {id}: {len(runs) - len(wrong)} of {len(runs)} runs are of {of}"
    )
    return _told(wrong)


def _told(wrong: list[str]) -> int:
    for line in islice(wrong, MOST_SHOWN):
        print_message(line)
    if len(wrong) > MOST_SHOWN:
        print_message(f"and {len(wrong) - MOST_SHOWN} more")
    return EXPECTATION_FAILED if wrong else HELD
