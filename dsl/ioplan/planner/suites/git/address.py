"""Where a suite is fetched from: `git+https://host/path.git@v1.2//plans`."""

from __future__ import annotations

import re

from msgspec import Struct

from ioplan.language.search.file_name import goes_down
from ioplan.language.search.packages import SuiteError

EXAMPLE = "git+https://host/path.git@v1.2//plans"
SCHEMES = ("https", "ssh", "file", "http")
ADDRESS = re.compile(r"git\+(?P<scheme>\w+)://(?P<host>[^/]*)(?P<path>/.*)")
HOST = re.compile(
    r"([A-Za-z0-9_][\w.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?", re.ASCII
)
LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1)(:[0-9]+)?")
PATH = re.compile(r"(/[\w.~+][\w.~+ -]*)+/?", re.ASCII)
REF = re.compile(r"[A-Za-z0-9][\w.+-]*(/[\w+][\w.+-]*)*", re.ASCII)
FOLDER = re.compile(r"[\w.][\w. -]*(/[\w.][\w. -]*)*", re.ASCII)


class GitAddress(Struct, frozen=True):
    """A repository, a tag, branch or commit of it, and a folder in it, or all of it.

    None of the words can be taken for an option, by git or by ssh.
    """

    scheme: str
    url: str
    ref: str
    folder: str

    def at(self, ref: str) -> GitAddress:
        """This address at another tag, branch or commit. Raises SuiteError."""
        return GitAddress(self.scheme, self.url, checked_ref(ref), self.folder)


def git_address(text: str) -> GitAddress:
    """What an address says. Raises SuiteError."""
    found = ADDRESS.fullmatch(text)
    if not found or found["scheme"] not in SCHEMES:
        known = ", ".join(f"git+{one}" for one in SCHEMES)
        raise SuiteError(
            f"{_shown(text)!r} is not an address such as {EXAMPLE}; there are {known}"
        )
    where, _, folder = found["path"].partition("//")
    path, at, ref = where.rpartition("@")
    if not at:
        raise SuiteError(
            f"{_shown(text)!r} names no version; say @TAG, @BRANCH or @COMMIT, as "
            f"{EXAMPLE}"
        )
    return address_of(
        f"{found['scheme']}://{found['host']}{path}", ref, folder.rstrip("/")
    )


def address_of(url: str, ref: str, folder: str) -> GitAddress:
    """An address of its parts, as ioplan.toml has them. Raises SuiteError."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    right = PATH.fullmatch(f"{slash}{path}") and "/../" not in f"/{path}/"
    if scheme not in SCHEMES or not right or not _is_host(scheme, host):
        raise SuiteError(
            f"{_shown(url)!r} is not a repository address: a user is allowed only "
            "with ssh, a password or token is not allowed, and http only for this "
            f"host; example: {EXAMPLE}"
        )
    if folder and not (FOLDER.fullmatch(folder) and goes_down(folder)):
        raise SuiteError(f"{folder!r} is not a folder of the repository")
    return GitAddress(scheme, url, checked_ref(ref), folder)


def _is_host(scheme: str, host: str) -> bool:
    if scheme == "file":
        return not host
    if scheme == "https" and "@" in host:
        return False  # hosts take a token there, and the lock is under version control
    return bool((LOOPBACK if scheme == "http" else HOST).fullmatch(host))


def _shown(text: str) -> str:
    """Without what may be a password."""
    return re.sub(r"://[^/]*@", "://…@", text)


def checked_ref(ref: str) -> str:
    """The name of a tag, branch or commit. Raises SuiteError."""
    if not REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", ".")):
        raise SuiteError(f"{ref!r} is not a tag, branch or commit")
    return ref
