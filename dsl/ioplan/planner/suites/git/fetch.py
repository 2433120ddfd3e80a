"""The files of a suite, as a repository has them at a commit."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Timer
from typing import BinaryIO, NamedTuple

from msgspec import Struct

from ioplan.language.checker.modules import MOST_BYTES
from ioplan.language.search.file_name import goes_down
from ioplan.language.search.packages import SuiteError
from ioplan.language.search.search_path import COMMIT
from ioplan.planner.suites.git.address import GitAddress

# The git program, told to do nothing but what is asked of it here.
#
# No shell; no hooks, no submodules, no other protocol than the address's, no
# questions; a bare repository of our own, which nothing is checked out of. What the
# user's own configuration says of keys, proxies and certificates holds.

TIMEOUT_S = 600.0
MOST_SAID_BYTES = 128 << 20
"""More than all plans of a suite; a few trees that name each other list far more."""
KEPT = (
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_ASKPASS"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)
"""Git's variables by which a user reaches a host."""
SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.fsckObjects": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


class Git(Struct, frozen=True):
    """A repository of our own, that may fetch by one protocol."""

    folder: Path
    scheme: str

    def make(self) -> None:
        """Make it, empty: without templates, so without hooks. Raises SuiteError."""
        self.call("init", "--quiet", "--bare", "--template=", str(self.folder))

    def call(self, *words: str, data: bytes = b"") -> bytes:
        """What a command prints. Raises SuiteError with git's last words."""
        with TemporaryFile() as asked, TemporaryFile() as errors:
            asked.write(data)
            asked.seek(0)
            with self._started(words, asked, errors) as process:
                timer = Timer(TIMEOUT_S, process.kill)
                timer.start()
                try:
                    assert process.stdout
                    said = process.stdout.read(MOST_SAID_BYTES + 1)
                    if len(said) > MOST_SAID_BYTES:
                        process.kill()
                    code, in_time = process.wait(), timer.is_alive()
                finally:
                    timer.cancel()
            errors.seek(0)
            last_words = _last_words(errors.read(MOST_SAID_BYTES))
        if len(said) > MOST_SAID_BYTES:
            raise SuiteError(f"git {words[0]} printed more than {MOST_SAID_BYTES} B")
        if not in_time:
            raise SuiteError(f"git {words[0]} did not end in {TIMEOUT_S:g} s")
        if code:
            raise SuiteError(f"git {words[0]}: {last_words}")
        return said

    def _started(
        self, words: tuple[str, ...], asked: BinaryIO, errors: BinaryIO
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                ["git", f"--git-dir={self.folder}", *self._settings(), *words],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._environment(),
            )
        except FileNotFoundError as error:
            raise SuiteError("suites from git need the program git") from error

    def _settings(self) -> list[str]:
        said = SETTINGS | {f"protocol.{self.scheme}.allow": "always"}
        return [
            word for name, value in said.items() for word in ("-c", f"{name}={value}")
        ]

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in KEPT
        }
        return kept | {
            "GIT_ALLOW_PROTOCOL": self.scheme,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "LC_ALL": "C",
        }


def _last_words(said: bytes) -> str:
    lines = [
        line for line in said.decode(errors="replace").splitlines() if line.strip()
    ]
    return "; ".join(lines[-3:]) or "it failed"


HERE = "refs/ioplan/it"
REGULAR, LINK = ("100644", "100755"), "120000"
WANTED = re.compile(r"(.*\.ioplan|index\.json|(LICEN[CS]E|COPYING)[\w.-]*)", re.DOTALL)
MOST_FILES = 1000
MOST_TOTAL_BYTES = 64 << 20
MOST_LINKS = 8


class Fetched(Struct, frozen=True):
    """A commit, and the contents of the suite's files by path."""

    commit: str
    files: dict[str, bytes]

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file."""
        return {n: hashlib.sha256(data).hexdigest() for n, data in self.files.items()}


class TreeEntry(NamedTuple):
    """A file of a tree, or what stands in its place."""

    mode: str
    id: str
    size: int
    path: str


def fetched(address: GitAddress) -> Fetched:
    """Fetch plans and licences of a folder of a repository. Raises SuiteError."""
    with TemporaryDirectory() as folder:
        git = Git(Path(folder) / "it.git", address.scheme)
        git.make()
        commit = _fetch(git, address)
        found = list(_entries(git, commit, address))
        return Fetched(commit, _contents(git, _chosen(found)))


def _fetch(git: Git, address: GitAddress) -> str:
    """The commit, which the repository then has.

    The id of a commit means that one, whatever tag the server has called so.
    """
    if COMMIT.fullmatch(address.ref):
        return _fetch_commit(git, address)
    listed = _refs(git.call("ls-remote", "--heads", "--tags", "--", address.url))
    for kind in ("refs/tags/", "refs/heads/"):
        if (name := f"{kind}{address.ref}") in listed:
            _fetch_one(git, address.url, name)
            return _commit(git, HERE)
    raise SuiteError(f"{address.url} has no tag and no branch {address.ref!r}")


def _fetch_commit(git: Git, address: GitAddress) -> str:
    try:
        _fetch_one(git, address.url, address.ref)
    except SuiteError:  # many servers give only what has a name
        every = [f"+refs/{one}/*:refs/all/{one}/*" for one in ("heads", "tags")]
        git.call("fetch", "--quiet", "--no-tags", "--", address.url, *every)
    return _commit(git, address.ref)


def _refs(listed: bytes) -> set[str]:
    lines = listed.decode(errors="replace").splitlines()
    return {line.partition("\t")[2] for line in lines}


def _fetch_one(git: Git, url: str, name: str) -> None:
    """Without its history, where the server can leave that out."""
    words = ("fetch", "--quiet", "--no-tags")
    try:
        git.call(*words, "--depth=1", "--", url, f"+{name}:{HERE}")
    except SuiteError:
        git.call(*words, "--", url, f"+{name}:{HERE}")


def _commit(git: Git, name: str) -> str:
    found = git.call("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    commit = found.decode().strip()
    if not COMMIT.fullmatch(commit):
        raise SuiteError(f"git rev-parse: {commit!r} is not a commit")
    return commit


def _entries(git: Git, commit: str, address: GitAddress) -> Iterator[TreeEntry]:
    try:
        listed = git.call("ls-tree", "-r", "-z", "-l", f"{commit}:{address.folder}")
    except SuiteError as error:
        raise SuiteError(
            f"{address.url} at {address.ref} has no folder {address.folder!r} that can "
            f"be listed: {error}"
        ) from error
    for row in listed.split(b"\0")[:-1]:
        head, _, path = row.partition(b"\t")
        mode, _, id, size = head.decode().split()
        try:
            yield TreeEntry(mode, id, int(size) if size != "-" else 0, path.decode())
        except UnicodeDecodeError as error:
            raise SuiteError(f"a file is named {path!a}, which is no text") from error


def _chosen(entries: list[TreeEntry]) -> dict[str, TreeEntry]:
    """The files to take, by path; a link stands for what it leads to.

    Raises SuiteError.
    """
    known = {one.path: one for one in entries}
    for one in entries:
        if any(ord(letter) < 32 for letter in one.path) or not goes_down(one.path):
            raise SuiteError(f"a file is named {one.path!a}, which none may be")
    found = {
        path: one
        for path, one in known.items()
        if one.mode == LINK or (one.mode in REGULAR and _is_wanted(path))
    }
    size = sum(one.size for one in found.values())
    if len(found) > MOST_FILES or size > MOST_TOTAL_BYTES:
        raise SuiteError(
            f"the folder has {len(found)} plans of {size} B; the most are {MOST_FILES} "
            f"and {MOST_TOTAL_BYTES} B: name a folder of it, as in …@v1.2//plans"
        )
    if large := [one.path for one in found.values() if one.size > MOST_BYTES]:
        raise SuiteError(f"{large[0]} is larger than {MOST_BYTES} B; is it a plan?")
    if not any(path.endswith(".ioplan") for path in found):
        raise SuiteError("there are no plans in that folder")
    return found


def _is_wanted(path: str) -> bool:
    return bool(WANTED.fullmatch(PurePosixPath(path).name))


def _contents(git: Git, entries: dict[str, TreeEntry]) -> dict[str, bytes]:
    ids = list(dict.fromkeys(one.id for one in entries.values()))
    blobs = _blobs(
        git.call("cat-file", "--batch", data="\n".join([*ids, ""]).encode()), ids
    )
    ends = {path: _followed(path, entries, blobs) for path in entries}
    return {path: blobs[entries[end].id] for path, end in ends.items() if end}


def _followed(path: str, entries: dict[str, TreeEntry], blobs: dict[str, bytes]) -> str:
    """The file that a path means; empty for a link to what is no plan.

    Raises SuiteError for a link that leads outside, whatever it is called.
    """
    at = path
    for _ in range(MOST_LINKS):
        if entries[at].mode != LINK:
            return at if _is_wanted(path) else ""
        to = blobs[entries[at].id].decode(errors="replace")
        led = posixpath.normpath(posixpath.join(posixpath.dirname(at), to))
        if to.startswith("/") or led.split("/")[0] == "..":
            raise SuiteError(f"{path} is a link that leads outside, to {to!a}")
        if led not in entries:
            return ""
        at = led
    raise SuiteError(f"{path} is a link in a circle")


def _blobs(said: bytes, ids: list[str]) -> dict[str, bytes]:
    """What `git cat-file --batch` prints: a header, the content, a line end, each."""
    found: dict[str, bytes] = {}
    at = 0
    for id in ids:
        end = said.index(b"\n", at)
        name, kind, size = said[at:end].decode().split()
        if name != id or kind != "blob":
            raise SuiteError(f"git cat-file: {name} is a {kind}")
        found[id] = said[end + 1 : end + 1 + int(size)]
        at = end + 1 + int(size) + 1
    return found
