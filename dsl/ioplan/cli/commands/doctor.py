"""`ioplan doctor`: what works on this machine, and how to mend what does not."""

from __future__ import annotations

import getpass
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from json import dumps
from pathlib import Path

from msgspec.structs import asdict
from rich import box
from rich.table import Table
from rich.text import Text

from ioplan.backends.backend import Availability, BackendError
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.targets.choose import named_backend
from ioplan.core.text import counted
from ioplan.core.version import __version__
from ioplan.records.session import Session
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store, default_path
from ioplan.runner.doctor.checks import Finding, Machine, findings
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import read_lab

# `ioplan doctor --report`: what a report of a defect needs, without names.
#
# Host, user, home folder, addresses, serial numbers and the names of drives are left
# out: the text may be shown to everybody.

LIBRARIES = ("pydantic", "msgspec", "numpy", "lark", "rich")
ADDRESS = re.compile(
    r"\b\d{1,3}(\.\d{1,3}){3}\b|\b[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}\b"
)
BY_NAME = re.compile(r"/dev/disk/by-\S+|\b[a-z]+://\S+|\b(wwn|eui|nvme-|naa)[.\w-]{8,}")
LEFT_OUT = "…"
MOST_FAILURES = 3


def bug_report(found: Sequence[Finding]) -> str:
    """Markdown for an issue."""
    lines = ["```", *_versions(), "", *_machine(found), "", *_last_session(), "```"]
    return redacted("\n".join(lines)) + "\n"


def _versions() -> Iterator[str]:
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    yield f"ioplan {__version__}, Python {platform.python_version()}, {libraries}"
    with suppress(OSError):
        yield platform.freedesktop_os_release().get("PRETTY_NAME", "")
    yield f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield f"{counted(os.cpu_count() or 0, 'CPU')}, {_memory_gib():.0f} GiB"


def _memory_gib() -> float:
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return 0.0


def _machine(found: Sequence[Finding]) -> Iterator[str]:
    for one in found:
        yield f"{one.name:15} {one.state:8} {one.text}"


def _last_session() -> Iterator[str]:
    """The newest of this host's store, with the messages of what failed."""
    if not default_path().exists():
        yield "no session yet"
        return
    try:
        with Store.to_read(default_path()) as store:
            session = store.session("last")
            yield _of(session)
            failed = (one for one in store.records(session.id) if one.message)
            for one, _ in zip(failed, range(MOST_FAILURES), strict=False):
                yield f"  {one.status}: {one.message}"
    except StoreError as error:
        yield f"no session can be read: {error}"


def _of(session: Session) -> str:
    kind = "a device" if session.target.startswith("/dev/") else "a file"
    where = "a simulated drive" if session.backend == "sim" else kind
    return f"last session: {session.status}, by {session.backend} on {where}"


def redacted(text: str) -> str:
    """Without what tells whose machine it is."""
    for name, instead in _names():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", instead, text)
    return BY_NAME.sub(LEFT_OUT, ADDRESS.sub(LEFT_OUT, text))


def _names() -> Iterator[tuple[str, str]]:
    home = str(Path.home())
    if len(home) > 1:
        yield home, "~"
    for name in dict.fromkeys((platform.node(), platform.node().split(".")[0])):
        if name and name != "localhost":
            yield name, "HOST"
    with suppress(OSError, KeyError):
        if (user := getpass.getuser()) != "root":
            yield user, "USER"


STYLES = {"works": "green", "limited": "yellow", "no": "red"}
NEEDED = ("engine", "fio", "SPDK")
"""One of them has to be here."""


def examine(lab: Path | None, json: bool, report: bool) -> int:
    """Look at all of it; the code is 1 where no backend can do I/O."""
    known = read_lab(lab)
    found = list(findings(Machine(lambda name: _availability(name, known))))
    if report:
        sys.stdout.write(bug_report(found))
    elif json:
        rows = [asdict(one) for one in found]
        sys.stdout.write(f"{dumps(rows, indent=2)}\n")
    else:
        print_findings(Terminal(), found)
    return (
        HELD if any(one.state != "no" for one in _needed(found)) else EXPECTATION_FAILED
    )


def _needed(found: Sequence[Finding]) -> list[Finding]:
    return [one for one in found if one.name in NEEDED]


def _availability(name: str, lab: Lab) -> Availability:
    try:
        one = named_backend(name, lab, [])
        return one.backend.availability(one.options)
    except BackendError as error:
        return Availability(usable=False, reason=str(error))


def print_findings(console: Terminal, found: Sequence[Finding]) -> None:
    """A row for each, then the commands, which must not be folded."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("what", "state"):
        table.add_column(heading, no_wrap=True)
    table.add_column("found", overflow="fold")
    for one in found:
        state = Text(one.state, style=STYLES[one.state])
        table.add_row(one.name, state, Text(one.text))
    console.print(table)
    for one in found:
        if one.mend:
            console.print(Text(f"{one.name}:\n  {one.mend}"), soft_wrap=True)
