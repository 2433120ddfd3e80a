"""`ioplan add` and `ioplan update`: suites of git repositories, pinned in a project."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.language.search.packages import NAME, SuiteError
from ioplan.language.search.search_path import (
    FOLDER,
    LOCK,
    PROJECT,
    Locked,
    locked_suites,
)
from ioplan.planner.suites.git.address import GitAddress, git_address
from ioplan.planner.suites.git.changes import Changes, changes
from ioplan.planner.suites.git.fetch import Fetched, fetched
from ioplan.planner.suites.git.project import (
    lock_text,
    locked,
    project_here,
    wanted,
    with_wanted,
)
from ioplan.planner.suites.suite import OWN, Collection, pinned_collection, suite_names
from ioplan.runner.guard.output import changing, rewrite

MOST_SHOWN = 40


def add_suite(address: str, word: str, name: str) -> None:
    """Fetch a suite, pin it, and say what it has. Raises UsageError."""
    try:
        if word != "as" or not NAME.fullmatch(name):
            raise SuiteError("usage: ioplan add ADDRESS as NAME, for example acme")
        project, source = project_here(), git_address(address)
        _check_free(project, name)
        found = fetched(source)
        shown = _compared(project, name, source, found)
        with changing(project):
            _check_free(project, name)  # another `add` may have been faster
            _take(project, name, source, found)
    except SuiteError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot add {name}: {error}") from error
    _print(f"{name}: {source.ref}, commit {found.commit[:12]}", shown)
    print_line(f'kept in {project / FOLDER / name}; use "{name}/….ioplan"')


def _check_free(project: Path, name: str) -> None:
    """Raises SuiteError where the name means something already."""
    if name in locked_suites(project):
        raise SuiteError(f"{name!r} was added already: ioplan update {name}")
    if name in wanted(project):
        raise SuiteError(
            f"{name!r} is in {project / PROJECT}, and was not taken: "
            f"ioplan update {name} --take"
        )
    if name == OWN or any(one.startswith(f"{name}/") for one in suite_names()):
        raise SuiteError(f"there is a suite {name!r} already; give it another name")
    if (project / FOLDER / name).exists():
        raise SuiteError(
            f"{project / FOLDER / name} exists, and is of no suite that was added; "
            f"remove it, or give the suite another name"
        )


def update_suites(names: list[str], to: str | None, take: bool) -> int:
    """Show what is new, and take it where that is said; 1 where something is left."""
    try:
        project = project_here()
        sources = wanted(project)
        if unknown := [name for name in names if name not in sources]:
            raise SuiteError(f"{project / PROJECT} has no suite {unknown[0]!r}")
        if to and len(names) != 1:
            raise SuiteError("--to is for one suite: ioplan update NAME --to VERSION")
        chosen = {name: sources[name] for name in names or sources}
        left = [
            _update(project, name, one.at(to) if to else one, take)
            for name, one in chosen.items()
        ]
    except SuiteError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot update: {error}") from error
    if not chosen:
        print_line(f"no suite was added to {project}")
    return EXPECTATION_FAILED if any(left) else HELD


def _update(project: Path, name: str, source: GitAddress, take: bool) -> bool:
    """Whether something is new and was not taken."""
    before = locked_suites(project).get(name)
    found = fetched(source)
    shown = _compared(project, name, source, found)
    if before == locked(name, source, found) and _is_whole(project, before):
        print_line(f"{name}: {source.ref}, commit {found.commit[:12]}: up to date")
        return False
    _print(_step(name, before, source, found), shown)
    if take:
        with changing(project):
            _take(project, name, source, found)
        print_line("  installed")
    else:
        print_line("  not installed: add --take")
    return not take


def _step(name: str, before: Locked | None, source: GitAddress, found: Fetched) -> str:
    now = f"{source.ref}, commit {found.commit[:12]}"
    if before is None:
        return f"{name}: {now}"
    moved = before.ref == source.ref and before.commit != found.commit
    more = f"; {source.ref} was moved" if moved else ""
    return f"{name}: {before.ref}, commit {before.commit[:12]} -> {now}{more}"


def _is_whole(project: Path, one: Locked) -> bool:
    """Whether the files are there as they were taken."""
    return _digests(project, one) == one.files


def _digests(project: Path, one: Locked) -> dict[str, str]:
    files = {
        path: (project / FOLDER / one.name / path).read_bytes()
        for path in one.files
        if (project / FOLDER / one.name / path).is_file()
    }
    return Fetched(one.commit, files).digests


def _compared(project: Path, name: str, source: GitAddress, found: Fetched) -> Changes:
    """What the fetched files change, both versions planned; nothing is taken."""
    before = locked_suites(project).get(name)
    after = locked(name, source, found)
    with TemporaryDirectory() as folder:
        _take(Path(folder), name, source, found)
        new = pinned_collection(Path(folder), after)
        old: Collection = pinned_collection(project, before) if before else new
        return changes(before.files if before else {}, after.files, old, new)


def _print(title: str, shown: Changes) -> None:
    print_line(title)
    lines = list(shown.lines())
    for line in lines[: MOST_SHOWN - 1]:
        print_line(line)
    if len(lines) > MOST_SHOWN:
        print_line(f"  and {len(lines) - MOST_SHOWN} more")
    if len(lines) >= MOST_SHOWN:
        print_line(lines[-1])


# ---- writing


def _take(project: Path, name: str, source: GitAddress, found: Fetched) -> None:
    """The files first: where this is cut off, the lock does not fit, and says so.

    The lock last: what ioplan.toml wants, `update` can take.
    """
    suites, marker = locked_suites(project), project / PROJECT
    before = suites.get(name)
    text = marker.read_text("utf-8") if marker.exists() else ""
    text = with_wanted(text, name, source)
    _write(project, name, found)
    for path in before.files if before else ():
        if path not in found.files:
            _checked(project, name, path).unlink(missing_ok=True)
    rewrite(marker, text.encode())
    suites[name] = locked(name, source, found)
    rewrite(project / LOCK, lock_text(suites.values()).encode())


def _write(project: Path, name: str, found: Fetched) -> None:
    for path, data in found.files.items():
        place = _checked(project, name, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        rewrite(place, data)


def _checked(project: Path, name: str, path: str) -> Path:
    """A file below the project's folder, and through no link. Raises SuiteError."""
    place = project / FOLDER / name / path
    if place.parent.resolve() != project.resolve() / FOLDER / name / Path(path).parent:
        raise SuiteError(f"{place.parent} is a link; remove it, and try again")
    return place
