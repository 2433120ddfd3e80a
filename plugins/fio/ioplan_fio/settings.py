"""What a user may choose of this backend, as `--option NAME=VALUE` or in a lab."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from ioplan.backends import BackendError
from ioplan.core.model import Model
from ioplan.core.text import did_you_mean

Engine = Literal["io_uring", "libaio", "psync", "io_uring_cmd"]
ENGINES: tuple[str, ...] = get_args(Engine)
NAMES = ("engine", "path", "version")
VERSION = re.compile(r"\d+(\.\d+)+")


class Plugin(Model):
    """An engine from outside fio. `library` is preloaded into it; `target` is what
    the engine calls the job's target; `lines` are the global ones that it wants.
    """

    name: str
    library: str
    target: str
    lines: tuple[str, ...] = ()


class Settings(Model):
    """fio's I/O engine, and the program where it is not the one on PATH.

    `version` is the one that a plan is to fit, where the program is elsewhere. Other
    backends may give a `plugin`, which then takes the engine's place.
    """

    engine: Engine = "io_uring"
    path: str | None = None
    version: tuple[int, ...] = ()
    plugin: Plugin | None = None

    @property
    def engine_name(self) -> str:
        """The engine as a job file names it."""
        return self.plugin.name if self.plugin else self.engine


def settings_of(options: dict[str, Any]) -> Settings:
    """The options, checked. Raises BackendError."""
    for name in options:
        if name not in NAMES:
            raise BackendError(
                f"the backend 'fio' has no option {name!r}{did_you_mean(name, NAMES)}; "
                f"it has: {', '.join(NAMES)}"
            )
    engine = options.get("engine", "io_uring")
    if engine not in ENGINES:
        raise BackendError(
            f"the backend 'fio' has no engine {engine!r}"
            f"{did_you_mean(str(engine), ENGINES)}; it has: {', '.join(ENGINES)}"
        )
    path = options.get("path")
    if not isinstance(path, str | None):
        raise BackendError(f"option path of 'fio' is a program's name, not {path!r}")
    return Settings(engine=engine, path=path, version=_version(options.get("version")))


def _version(text: Any) -> tuple[int, ...]:
    """The version in `--option version=3.38`; empty if none. Raises BackendError."""
    if text is None:
        return ()
    if not isinstance(text, str) or not VERSION.fullmatch(text):
        raise BackendError(
            f"option version of 'fio' is one such as 3.38, as text, not {text!r}"
        )
    return tuple(map(int, text.split(".")))
