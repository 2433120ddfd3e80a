"""The lab file, in TOML: what differs from lab to lab, and is not in a plan.

`backend` names the default backend, a table `[backends.NAME]` has a backend's own
options, such as `engine = "libaio"` for fio, and `[targets.NAME]` says which device
NAME is, and whether it may be written. `power = { command = ["meter", "--watts"] }`
names an external power meter, `cpus` are those that do the I/O. `[prepare]` has what
is set on a host for the time of a session. `[hosts.NAME]` says how a host is reached,
`[groups]` which targets run in parallel, `results` names the database to push results
to, and `plans` are folders of files that plans use. `name` and `[admins]`, public
keys by names, say whose signed lists of drives permit overwriting.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ioplan.core.error_kinds import LabFault
from ioplan.core.model import Model
from ioplan.core.path_steps import path_steps
from ioplan.core.retired import RETIRED_KEYS
from ioplan.core.state_folder import at_home
from ioplan.core.system import HAS_USERS, grp, pwd, trusted_users
from ioplan.core.text import did_you_mean
from ioplan.runner.lab.cross_references import Fault, reference_faults
from ioplan.runner.lab.lab import HostSettings, Lab, LabError, LabEvent, LabHost
from ioplan.target_entry import METHOD, TABLE, LabTarget, PowerMeter, PurgeCommand

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# Whose lab file it is: a lab names programs to run, and drives to overwrite.


def check_owners(
    path: Path,
    itself: str = "the lab",
    why: str = "and a lab file controls what is run and overwritten",
) -> None:
    """As ssh does: no other user may write it, replace it, or redirect a link to it.

    Raises LabError, OSError.
    """
    if not HAS_USERS:
        return
    trusted = trusted_users()
    for place, status in path_steps(path):
        if status.st_uid not in trusted:
            what = f"belongs to another user (uid {status.st_uid})"
        elif _others_write(status):
            what = "can be written by other users"
        else:
            continue
        shown = itself if place == path.absolute() else f"{itself} {path} is not safe:"
        raise LabError(
            f"{shown} {place} {what}, {why}; use a file that only you can write: "
            "chown, and chmod go-w",
            LabFault.LAB_NOT_YOURS,
        )


def _others_write(status: os.stat_result) -> bool:
    """In a sticky folder only the owner of a file may replace it."""
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return False
    of_group = mode & stat.S_IWGRP and not _has_one_member(status.st_gid)
    return bool(mode & stat.S_IWOTH or of_group)


def _has_one_member(group: int) -> bool:
    """Many systems give each user a group of the same name, and a umask of 002."""
    users = {one.pw_name for one in pwd.getpwall() if one.pw_gid == group}
    try:
        return len(users | set(grp.getgrgid(group).gr_mem)) <= 1
    except KeyError:
        return False


KEY = r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'"""
HEADER = re.compile(rf"\s*\[\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*\]")
VALUE = re.compile(rf"\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*=")

KeyPath = tuple[str, ...]


def line_of(text: str, key: Sequence[str]) -> int | None:
    """The line of a key, or of the innermost table around it; counted from 1.

    A table without a header of its own is at its first subtable.
    """
    wanted, found = tuple(key), list(_keys(text))
    if not wanted:
        return None
    within = [(len(p), number) for number, p in found if p == wanted[: len(p)]]
    if within:
        return max(within, key=lambda one: one[0])[1]
    parts = (number for number, p in found if p[: len(wanted)] == wanted)
    return next(parts, None)


def _keys(text: str) -> Iterator[tuple[int, KeyPath]]:
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := HEADER.match(line):
            table = _parts(found[1])
            yield number, table
        elif found := VALUE.match(line):
            yield number, table + _parts(found[1])


def _parts(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(KEY, dotted))


MAX_BYTES = 1 << 20
MAX_FAULTS = 20


def usual_path() -> Path:
    """lab.toml in the XDG config folder, whether it is there or not."""
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return at_home(config) / "ioplan" / "lab.toml"


def default_path() -> Path | None:
    """`IOPLAN_LAB`, else the file at the usual path, if there is one."""
    named = os.environ.get("IOPLAN_LAB")
    if named:
        return Path(named)
    usual = usual_path()
    return usual if _is_there(usual) else None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:
        return True  # reading it reports the error


def read_lab(path: Path | None) -> Lab:
    """The lab of the file, else of the default one, else an empty one.

    Raises LabError.
    """
    path = path or default_path()
    return parsed_lab(path, _text(path)) if path else Lab.model_construct()


def plan_folders(path: Path | None) -> tuple[Path, ...]:
    """The folders in which the lab keeps plans for others to use; none without a lab.

    Relative ones are beside the lab file. Raises LabError.
    """
    found = path or default_path()
    named = read_lab(path).plans if found else ()
    return tuple(found.parent / at_home(one) for one in named if found)


def _text(path: Path) -> str:
    try:
        check_owners(path)
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            text = f"the lab {path} is larger than {MAX_BYTES} B; is it a lab file?"
            raise LabError(text, LabFault.LAB_UNREADABLE)
        return content.decode()
    except OSError as error:
        raise LabError(
            f"cannot read the lab {path}: {error.strerror}; name another with --lab",
            LabFault.LAB_UNREADABLE,
        ) from error
    except UnicodeDecodeError as error:
        raise _not_toml(path, error) from error


def _not_toml(path: Path, error: ValueError) -> LabError:
    return LabError(f"the lab {path} is not TOML: {error}", LabFault.LAB_SYNTAX)


def parsed_lab(path: Path, text: str) -> Lab:
    """The lab of a file's text. Raises LabError."""
    try:
        lab = Lab.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, error) from error
    except ValidationError as error:
        raise _invalid(path, text, map(_fault, error.errors())) from error
    if found := list(reference_faults(lab)):
        raise _invalid(path, text, found)
    return lab


def _invalid(path: Path, text: str, faults: Iterable[Fault]) -> LabError:
    """All that is wrong, each with its line if that can be found."""
    shown = list(dict.fromkeys(_line(path, text, fault) for fault in faults))
    more = [f"and {len(shown) - MAX_FAULTS} more"] * (len(shown) > MAX_FAULTS)
    return LabError("\n".join([*shown[:MAX_FAULTS], *more]), LabFault.LAB_INVALID)


def _line(path: Path, text: str, fault: Fault) -> str:
    where, reason = fault
    line = line_of(text, where)
    place = f"{path}:{line}" if line else str(path)
    return f"the lab {place}: {'.'.join(where)}: {reason}"


def _fault(error: ErrorDetails) -> Fault:
    where = tuple(str(part) for part in error["loc"] if part not in NOT_WRITTEN)
    return where, _reason(error)


NOT_WRITTEN = ("[key]", TABLE, METHOD)
"""Parts of an error's location that are pydantic's own."""
OTHER_KEYS = dict.fromkeys(("device", "dev", "file", "filename"), "path")
"""Other programs' words for a key."""
KNOWN: dict[str, type[Model]] = {
    "targets": LabTarget,
    "hosts": LabHost,
    "events": LabEvent,
}
"""The models of the tables in a table."""


def _reason(error: ErrorDetails) -> str:
    """Why a key is wrong, in the terms of a lab file."""
    message = error["msg"].removeprefix("Value error, ")
    loc = error["loc"]
    if error["type"] == "extra_forbidden":
        inner = KNOWN.get(str(loc[0])) if len(loc) == 3 else None
        inner = PurgeCommand if TABLE in loc else inner
        inner = PowerMeter if loc[-2:-1] == ("power",) else inner
        inner = HostSettings if loc[-2:-1] == ("prepare",) else inner
        known = (inner or Lab).model_fields
        key = str(loc[-1])
        if key in RETIRED_KEYS:
            return f"the key {key!r} was removed: {RETIRED_KEYS[key]}"
        other = OTHER_KEYS.get(key)
        meant = f", did you mean {other!r}?" if other in known else ""
        near = meant or did_you_mean(key, known)
        return f"there is no key {key!r}{near}; known: {', '.join(known)}"
    if loc[-1] == METHOD and not isinstance(error["input"], str):
        return 'it is a method such as "format", or a table with a command'
    if loc[-1] in ("cpus", "irq_affinity"):
        return 'CPUs are written as the kernel writes them, such as "2-5,8"'
    if loc[-1] == "[key]":
        return "a name has letters, digits, '-', '_' and '.' only"
    return message
