"""The lab file, in TOML: what a plan does not say, as it differs by lab.

`backend` names what does the I/O by default, and a table `[backends.NAME]` has a
backend's options in its own words, such as `engine = "libaio"` for fio.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ioplan.model import Model

MOST_BYTES = 1 << 20


class LabError(Exception):
    """A lab file that cannot be used; the text says where and why."""


class Lab(Model):
    """A lab. `options_of` gives a backend's options."""

    backend: str = "io_uring"
    backends: dict[str, dict[str, Any]] = {}

    def options_of(self, backend: str) -> dict[str, Any]:
        """What the lab says to a backend; empty where it says nothing."""
        return self.backends.get(backend, {})


def default_path() -> Path | None:
    """`IOPLAN_LAB`, else lab.toml in the XDG config folder, if it is there."""
    named = os.environ.get("IOPLAN_LAB")
    if named:
        return Path(named)
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    found = Path(config).expanduser() / "ioplan" / "lab.toml"
    return found if found.is_file() else None


def read_lab(path: Path | None) -> Lab:
    """The lab of a file, or one that says nothing. Raises LabError."""
    path = path or default_path()
    if path is None:
        return Lab()
    try:
        with path.open("rb") as file:
            return Lab.model_validate(tomllib.loads(file.read(MOST_BYTES).decode()))
    except OSError as error:
        raise LabError(f"cannot read the lab {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"the lab {path} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LabError(f"the lab {path}: {where}: {first['msg']}") from error
