"""Which backend, with which options, on which target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from ioplan.backends import Backend, BackendError, TargetRequest, find
from ioplan.cli.failure import UsageError
from ioplan.lab.lab import Lab, read_lab
from ioplan.lab.target import make_scratch
from ioplan.language.quantity import size_text


@dataclass(frozen=True)
class Choice:
    """A backend that can run here, and its options."""

    backend: Backend
    options: dict[str, Any]


def chosen(name: str | None, lab_path: Path | None, settings: list[str]) -> Choice:
    """The backend by name, else the lab's. Raises BackendError, LabError."""
    lab = read_lab(lab_path)
    return usable(name or lab.backend, lab, settings)


def usable(name: str, lab: Lab, settings: list[str]) -> Choice:
    """The backend, if it can run here. Raises BackendError."""
    backend = find(name)
    options = {**lab.options_of(name), **option_pairs(settings)}
    found = backend.availability(options)
    if not found.usable:
        raise BackendError(f"the backend {name!r} cannot run here: {found.reason}")
    return Choice(backend, options)


def option_pairs(settings: list[str]) -> dict[str, str]:
    """NAME=VALUE of `--option`."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--option takes NAME=VALUE, not {setting!r}")
        found[name] = value
    return found


def make_target(backend: Backend, request: TargetRequest, console: Console) -> None:
    """Make the scratch file if it is missing, with a bar, as a large one takes long."""
    if not request.path or not request.create_bytes or backend.virtual_time:
        return
    path, size_bytes = Path(request.path), request.create_bytes
    if path.exists():
        return
    with Progress(
        console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("making the scratch file", total=size_bytes)
        make_scratch(
            path, size_bytes, lambda done: progress.update(task, completed=done)
        )
    text = f"made the scratch file {path}, {size_text(size_bytes)} of random data"
    console.print(text, soft_wrap=True, highlight=False, markup=False)
