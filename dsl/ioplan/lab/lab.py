"""The lab file, in TOML: what a plan does not say, as it differs by lab.

`backend` names what does the I/O by default, a table `[backends.NAME]` has a
backend's options in its own words, such as `engine = "libaio"` for fio, and
`[targets.NAME]` says which device NAME is, and whether it may be written.
`power = { command = ["meter", "--watts"] }` names a meter outside the machine.
`[hosts.NAME]` says how a host is reached, `[groups]` which targets run side by side,
and `results` names the database that results are pushed to.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from ioplan.lab.entry import (
    TABLE,
    WAY,
    LabTarget,
    PowerMeter,
    PurgeCommand,
    Words,
)
from ioplan.lab.hosts import LabHost
from ioplan.lab.links import Fault, link_faults
from ioplan.lab.toml_line import line_of
from ioplan.model import Model
from ioplan.suggest import did_you_mean

MOST_BYTES = 1 << 20
MOST_SHOWN = 20
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class LabError(Exception):
    """A lab file that cannot be used; the text says where and why."""


class Lab(Model):
    """A lab. `options_of` gives a backend's options."""

    backend: str = "io_uring"
    backends: dict[str, dict[str, Any]] = {}
    on_failure: Literal["stop", "continue"] | None = None
    silence_s: Annotated[float, Field(gt=0)] | None = None
    targets: dict[Name, LabTarget] = {}
    power: PowerMeter | None = None
    hosts: dict[Name, LabHost] = {}
    groups: dict[Name, tuple[Words, ...]] = {}
    scheduler: Words | None = None
    results: Words | None = None

    def meter_of(self, entry: LabTarget | None) -> tuple[str, ...]:
        """The command of the target's power meter, else the lab's; empty without."""
        power = (entry and entry.power) or self.power
        return power.command if power else ()

    @property
    def here(self) -> dict[str, LabTarget]:
        """The targets of this host: what is said of others does not hold here."""
        return {
            name: one
            for name, one in self.targets.items()
            if not one.host and not one.hosts
        }

    def options_of(self, backend: str) -> dict[str, Any]:
        """What the lab says to a backend; empty where it says nothing."""
        return self.backends.get(backend, {})


def usual_path() -> Path:
    """lab.toml in the XDG config folder, whether it is there or not."""
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(config).expanduser() / "ioplan" / "lab.toml"


def default_path() -> Path | None:
    """`IOPLAN_LAB`, else the usual one, if it is there."""
    named = os.environ.get("IOPLAN_LAB")
    if named:
        return Path(named)
    usual = usual_path()
    return usual if _is_there(usual) else None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:
        return True  # reading it says so


def read_lab(path: Path | None) -> Lab:
    """The lab of a file, or one that says nothing. Raises LabError."""
    path = path or default_path()
    return _lab(path, _text(path)) if path else Lab()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise LabError(f"the lab {path} is larger than {MOST_BYTES} B; is it one?")
        return content.decode()
    except OSError as error:
        raise LabError(
            f"cannot read the lab {path}: {error.strerror}; name another with --lab"
        ) from error
    except UnicodeDecodeError as error:
        raise LabError(f"the lab {path} is not TOML: {error}") from error


def _lab(path: Path, text: str) -> Lab:
    try:
        lab = Lab.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"the lab {path} is not TOML: {error}") from error
    except ValidationError as error:
        raise LabError(_told(path, text, map(_fault, error.errors()))) from error
    if found := list(link_faults(lab)):
        raise LabError(_told(path, text, found))
    return lab


def _told(path: Path, text: str, faults: Iterable[Fault]) -> str:
    """All that is wrong, each with its line, as far as that can be told."""
    shown = list(dict.fromkeys(_line(path, text, fault) for fault in faults))
    more = [f"and {len(shown) - MOST_SHOWN} more"] * (len(shown) > MOST_SHOWN)
    return "\n".join([*shown[:MOST_SHOWN], *more])


def _line(path: Path, text: str, fault: Fault) -> str:
    where, reason = fault
    line = line_of(text, where)
    place = f"{path}:{line}" if line else str(path)
    return f"the lab {place}: {'.'.join(where)}: {reason}"


def _fault(error: ErrorDetails) -> Fault:
    where = tuple(str(part) for part in error["loc"] if part not in NOT_WRITTEN)
    return where, _reason(error)


NOT_WRITTEN = ("[key]", TABLE, WAY)
"""Parts of a place that are pydantic's own."""
OTHER_KEYS = dict.fromkeys(("device", "dev", "file", "filename"), "path")
"""What people write elsewhere."""
KNOWN: dict[str, type[Model]] = {"targets": LabTarget, "hosts": LabHost}
"""What is in the tables of tables."""


def _reason(error: ErrorDetails) -> str:
    """In the words of a lab file."""
    message = error["msg"].removeprefix("Value error, ")
    loc = error["loc"]
    if error["type"] == "extra_forbidden":
        inner = KNOWN.get(str(loc[0])) if len(loc) == 3 else None
        inner = PurgeCommand if TABLE in loc else inner
        inner = PowerMeter if loc[-2:-1] == ("power",) else inner
        known = (inner or Lab).model_fields
        key = str(loc[-1])
        near = did_you_mean(OTHER_KEYS.get(key, key), known)
        return f"there is no key {key!r}{near}; known: {', '.join(known)}"
    if loc[-1] == WAY and not isinstance(error["input"], str):
        return 'it is a way such as "format", or a table with a command'
    if loc[-1] == "[key]":
        return "a name has letters, digits, '-', '_' and '.' only"
    return message
