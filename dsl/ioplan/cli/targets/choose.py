"""Which backend, with which options, on which target."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from ioplan.backends.backend import (
    DEFAULTS,
    AddressingBackend,
    Backend,
    BackendError,
    Drive,
    ProgressCallback,
    TargetRequest,
    default_backend,
    find,
    names,
)
from ioplan.cli.display.output import print_message
from ioplan.cli.display.plain import LineOutput
from ioplan.cli.errors import UsageError
from ioplan.core.error_kinds import TargetFault
from ioplan.core.units import bytes_text
from ioplan.language.quantity import size_text
from ioplan.runner.devices.file_id import is_there
from ioplan.runner.guard.errors import (
    ConsentError,
    TargetError,
    UnreadError,
    check_kernel_files,
    missing,
)
from ioplan.runner.guard.full_read import data_error, read_whole
from ioplan.runner.guard.resolve import resolve_target
from ioplan.runner.guard.target import make_scratch
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import default_path, read_lab, usual_path

ADDRESS = re.compile(r"[a-z]\w*:")
"""How what only a backend knows begins, such as `malloc:64MiB`."""

Opened = TypeVar("Opened")


class Choice(Struct, frozen=True):
    """A backend, its options, and the lab that it is in."""

    backend: Backend
    options: dict[str, Any]
    lab: Lab


def chosen_backend(
    name: str | None,
    lab_path: Path | None,
    settings: Sequence[str],
    target: str | None = None,
) -> Choice:
    """The backend by name, else the one that has the target, else the lab's, else the
    first of the usual ones that runs here, which is then named.

    Raises BackendError, LabError.
    """
    lab = read_lab(lab_path)
    named = name or backend_of(target or "", lab) or lab.backend
    if named:
        return usable_backend(named, lab, settings)
    choice = named_backend(default_backend(), lab, settings)
    first = named_backend(DEFAULTS[0], lab, settings)
    fault = first.backend.availability(first.options)
    if not choice.backend.availability(choice.options).usable:
        raise BackendError(
            f"no backend can run here; {DEFAULTS[0]}: {fault.reason}; "
            "--backend sim runs on a simulated drive"
        )
    if choice.backend.name != DEFAULTS[0]:
        print_message(
            f"by {choice.backend.name}, as {DEFAULTS[0]} cannot run: {fault.reason}"
        )
    return choice


def backend_of(word: str, lab: Lab) -> str | None:
    """The backend whose address a target is, such as `nvme:tcp:…`; None for what the
    kernel has, and where the lab simulates: then no real drive must be reached."""
    entry = lab.targets.get(word)
    path = (entry.path if entry else word) or ""
    if not ADDRESS.match(path) or is_there(path) or _simulates(lab):
        return None
    return next((name for name in names() if _has_address(name, path, lab)), None)


def _simulates(lab: Lab) -> bool:
    try:
        return bool(lab.backend) and find(lab.backend).virtual_time
    except BackendError:
        return False


def _has_address(name: str, path: str, lab: Lab) -> bool:
    """A backend that finds fault with an address takes it for its own."""
    try:
        backend = find(name)
    except BackendError:
        return False
    if not isinstance(backend, AddressingBackend):
        return False
    try:
        return backend.addressed(path, lab.options_of(name)) is not None
    except (BackendError, TargetError):
        return True


def usable_backend(name: str, lab: Lab, settings: Sequence[str]) -> Choice:
    """The backend, if it can run here. Raises BackendError."""
    choice = named_backend(name, lab, settings)
    found = choice.backend.availability(choice.options)
    if not found.usable:
        raise BackendError(f"the backend {name!r} cannot run here: {found.reason}")
    return choice


def named_backend(name: str, lab: Lab, settings: Sequence[str]) -> Choice:
    """The backend, whether or not it can run here. Raises BackendError."""
    options = {**lab.options_of(name), **option_pairs(settings)}
    return Choice(find(name), options, lab)


def option_pairs(settings: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE of `--option`."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--option takes NAME=VALUE, not {setting!r}")
        if name in found:
            raise UsageError(f"--option says {name!r} twice")
        found[name] = value
    return found


def resolved_request(
    request: TargetRequest, choice: Choice, lab: Path | None
) -> TargetRequest:
    """At the device that the lab's name stands for, with what the lab says of it.

    Raises TargetError. A simulated drive is no device, whatever it is called.
    """
    if request.path is None or choice.backend.virtual_time:
        return request
    file = lab or default_path()
    if not (file or request.create_bytes or choice.lab.targets):
        _check_no_name(request.path)
    path, entry = resolve_target(request.path, choice.lab)
    _check_address(path, choice)
    known = {"path": path, "entry": entry, "lab": str(file) if file else None}
    return request.model_copy(update=known)


def _check_no_name(word: str) -> None:
    """A word that can only be a name of a lab needs one. Raises TargetError."""
    if set(word) & set("/:.") or is_there(word):
        return
    if Path("/dev", word).is_block_device():
        raise missing(Path(word))
    raise TargetError(
        f"there is no target {word!r}: no lab file was read, as there is no "
        f"{usual_path()}; name one with --lab or IOPLAN_LAB, or a drive by its path "
        "(ioplan targets lists them), or make a scratch file, as by --target "
        "scratch.bin --create 1GiB",
        TargetFault.UNKNOWN_NAME,
    )


def _check_address(path: str, choice: Choice) -> None:
    """Another backend's address is not taken for a missing file. Raises TargetError."""
    if isinstance(choice.backend, AddressingBackend):
        return
    if other := backend_of(path, choice.lab):
        raise TargetError(
            f"{path} is an address that the backend {choice.backend.name!r} does not "
            f"have; add --backend {other}",
            TargetFault.NOT_A_TARGET,
        )


def open_drive(backend: Backend, request: TargetRequest) -> tuple[Drive, TargetRequest]:
    """Open the target; a person at a terminal may give the missing word there.

    Returns the request with that word in it. Raises TargetError, BackendError.
    """
    return with_consent(backend.open, request)


def with_consent(
    open: Callable[[TargetRequest], Opened], request: TargetRequest
) -> tuple[Opened, TargetRequest]:
    """Open a target by `open`, with the consent that a person gives when asked."""
    try:
        return after_reading(open, request), request
    except ConsentError as error:
        if not confirmed(error):
            raise
        words = (*getattr(request, error.request_field), error.id)
        consented = request.model_copy(update={error.request_field: words})
        return after_reading(open, consented), consented


def after_reading(
    open: Callable[[TargetRequest], Opened], request: TargetRequest
) -> Opened:
    """Open it; where only a full read can tell whether it is empty, read it first."""
    try:
        return open(request)
    except UnreadError as error:
        _read_whole(error)
        return open(request)


def _read_whole(error: UnreadError) -> None:
    """Show how far it is; it goes on there after Ctrl-C. Raises TargetError."""
    facts = error.facts
    if error.data_at is not None:
        raise data_error(facts, error.data_at)
    print_message(
        f"{facts.path} looks empty; reading all {bytes_text(facts.capacity_bytes)} of "
        "it to be sure (--overwrite-data skips this)"
    )
    with _reading_bar() as on_progress:
        found = read_whole(facts, on_progress)
    if found is not None:
        raise data_error(facts, found)


@contextmanager
def _reading_bar() -> Iterator[ProgressCallback]:
    """With the time left at a terminal; a line for each tenth otherwise."""
    if not sys.stderr.isatty():
        yield _tenths()
        return
    with _bar("reading", 1.0) as on_progress:
        yield on_progress


@contextmanager
def _bar(
    text: str, total: float, console: Any = None
) -> Iterator[Callable[[float], None]]:
    from ioplan.cli.display.live_lines import progress_bar  # noqa: PLC0415  rare

    with progress_bar(text, total, console) as on_progress:
        yield on_progress


def _tenths() -> ProgressCallback:
    said = 0

    def say(share: float) -> None:
        nonlocal said
        if int(share * 10) > said:
            said = int(share * 10)
            print_message(f"read {said * 10} %")

    return say


def confirmed(error: ConsentError) -> bool:
    """Whether the person typed the whole name of what is to be overwritten.

    Where data is on it, the fingers that know the name must say that, too.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    words = f"destroy the data on {error.id}" if error.data else error.id
    print_message(f"{error}\nor type {words} now: ", end="")
    return sys.stdin.readline().strip() == words


def make_target(backend: Backend, request: TargetRequest, out: LineOutput) -> None:
    """Make the scratch file if it is missing, with a bar, as a large one takes long."""
    if not request.path or not request.create_bytes or backend.virtual_time:
        return
    path, size_bytes = Path(request.path), request.create_bytes
    if is_there(path):
        return
    check_kernel_files()
    with _making_bar(out, size_bytes) as on_progress:
        make_scratch(path, size_bytes, on_progress)
    out.say(f"made the scratch file {path}, {size_text(size_bytes)} of random data")


@contextmanager
def _making_bar(out: LineOutput, size_bytes: int) -> Iterator[Callable[[int], None]]:
    """At a terminal; what is yielded takes the bytes that are done."""
    if not out.is_terminal:
        yield lambda done: None
        return
    with _bar("making the scratch file", size_bytes, out) as on_progress:
        yield on_progress
