"""The git program, told to do nothing but what is asked of it here.

No shell; no hooks, no submodules, no other protocol than the address's, no questions;
a bare repository of our own, which nothing is checked out of. What the user's own
configuration says of keys, proxies and certificates holds.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import BinaryIO

from msgspec import Struct

from ioplan.language.search.packages import SuiteError

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
