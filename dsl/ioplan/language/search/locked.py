"""Suites that a project has added: pinned by ioplan.lock, vendored under suites/.

`ioplan.toml` says what is wanted, `ioplan.lock` what was taken: a commit, and the
SHA-256 of each file. Nothing is fetched here, and a file that has another digest is
no file of the suite.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from ioplan.language.search.file_name import goes_down
from ioplan.language.search.packages import NAME, SuiteError

LOCK, FOLDER = "ioplan.lock", "suites"
MOST_BYTES = 16 << 20
SHA256 = re.compile(r"[0-9a-f]{64}")
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Locked(Struct, frozen=True):
    """A suite as it was taken; `files` are digests by path below the folder."""

    name: str
    git: str
    ref: str
    folder: str
    commit: str
    files: dict[str, str]


def locked_suites(project: Path) -> dict[str, Locked]:
    """What a project has pinned, by name. Raises SuiteError."""
    path = project / LOCK
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError("it is too large for one")
        return {
            name: _locked(name, one)
            for name, one in tomllib.loads(text.decode()).items()
        }
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SuiteError(f"cannot read {path}: {error.strerror}") from error
    except (
        *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
    ) as error:
        raise SuiteError(
            f"{path} is not as ioplan writes it ({error}); restore it, or remove it "
            "and add its suites again"
        ) from error


def _locked(name: str, raw: dict[str, Any]) -> Locked:
    words = [raw[key] for key in ("git", "ref", "folder", "commit")]
    git, ref, folder, commit = words
    files = dict(raw["files"])
    right = [NAME.fullmatch(name), COMMIT.fullmatch(raw["commit"])]
    right += [SHA256.fullmatch(digest) for digest in files.values()]
    if (
        not all(right)
        or not all(map(goes_down, files))
        or not all(isinstance(one, str) for one in words)
    ):
        raise ValueError(f"{name!r} is no entry of it")
    return Locked(name, git, ref, folder, commit, files)


def locked_folder(project: Path, name: str) -> Path | None:
    """Where a pinned suite is, if the project has it. Raises SuiteError."""
    found = name in locked_suites(project)
    return project / FOLDER / name if found else None


def check_pinned(path: Path) -> None:
    """Whether a file of a pinned suite is what was taken; others are let through.

    Raises SuiteError, OSError.
    """
    for above in path.parents if path.is_absolute() else ():
        if above.name == FOLDER and (above.parent / LOCK).is_file():
            _check(path, above)


def _check(path: Path, folder: Path) -> None:
    name, *rest = path.relative_to(folder).parts
    suite = locked_suites(folder.parent).get(name)
    if suite is None or not rest:
        return
    wanted = suite.files.get(str(PurePosixPath(*rest)))
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted != found:
        why = "differs from" if wanted else "is not in"
        raise SuiteError(
            f"{path} {why} {suite.git} at {suite.commit[:12]}, which {LOCK} pins; "
            f"undo the change, or add it again: ioplan update {name} --take"
        )
