"""The git program, told to do nothing but what is asked of it here.

No shell; no hooks, no submodules, no other protocol than the address's, no questions;
a bare repository of our own, which nothing is checked out of. What the user's own
configuration says of keys, proxies and certificates holds.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ioplan.core.value import Value
from ioplan.language.search.packages import SuiteError

TIMEOUT_S = 600.0
KEPT = (
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_ASKPASS"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)
"""Of git's variables, those by which a user reaches a host."""
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


class Git(Value):
    """A repository of our own, that may fetch by one protocol."""

    folder: Path
    scheme: str

    def make(self) -> None:
        """Make it, empty: without templates, so without hooks. Raises SuiteError."""
        self.call("init", "--quiet", "--bare", "--template=", str(self.folder))

    def call(self, *words: str, data: bytes = b"") -> bytes:
        """What a command prints. Raises SuiteError with git's last words."""
        try:
            done = subprocess.run(
                ["git", f"--git-dir={self.folder}", *self._settings(), *words],
                input=data,
                capture_output=True,
                env=self._environment(),
                timeout=TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError as error:
            raise SuiteError("suites from git need the program git") from error
        except subprocess.TimeoutExpired as error:
            raise SuiteError(
                f"git {words[0]} did not end in {TIMEOUT_S:g} s"
            ) from error
        if done.returncode:
            raise SuiteError(f"git {words[0]}: {_last_words(done.stderr)}")
        return done.stdout

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
