"""What sessions have set on this host, and what was there before.

A file in the user's state folder, on the disk before anything is set, and read and
changed by one process at a time. It holds until the next start of the machine, which
forgets all settings by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.core.error_kinds import ExplainedError, HostFault
from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.core.system import fcntl
from ioplan.results.store.session_folder import make_private
from ioplan.runner.guard.output import OutputError, rewrite
from ioplan.runner.telemetry.cpu_facts import listed
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.topology import chosen

# The files of the kernel that a session may change, and no others.

CPU = "sys/devices/system/cpu"
KNOWN = re.compile(
    rf"{CPU}/cpufreq/policy\d+/scaling_governor|{CPU}/cpufreq/boost"
    rf"|{CPU}/intel_pstate/no_turbo|{CPU}/cpu\d+/cpuidle/state\d+/disable"
    r"|proc/irq/\d+/smp_affinity_list"
    r"|sys/block/(?!\.)[A-Za-z0-9_.!-]+/queue/"
    r"(scheduler|nomerges|nr_requests|wbt_lat_usec|iosched/[a-z_]+)"
)
SCHEDULER, AFFINITY = "/scheduler", "/smp_affinity_list"


class HostError(ExplainedError):
    """A host cannot be prepared; the text says what, where and what to do."""

    kind = HostFault.HOST_SETTING


def current(tree: Tree, name: str) -> str | None:
    """What a file is set to, in one way of writing it; None where there is none."""
    if not tree.path(name).exists():
        return None
    return canonical(name, tree.text(name))


def canonical(name: str, text: str) -> str:
    """`none` of `[none] kyber`, and `0,1,2` of `0-2`, so that two can be compared."""
    if name.endswith(SCHEDULER):
        return chosen(text)
    if name.endswith(AFFINITY):
        return ",".join(map(str, sorted(set(listed(text)))))
    return text.strip()


def write(tree: Tree, name: str, text: str) -> None:
    """Set a known file, which is there. Raises OSError, and HostError for another."""
    if not KNOWN.fullmatch(name):
        raise HostError(
            f"/{name} is not a setting that ioplan changes; it is not restored"
        )
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(tree.path(name), flags)
    try:
        os.write(fd, f"{text}\n".encode())
    finally:
        os.close(fd)


HERE = Tree()
STARTED = 19
"""The place of a process's start in /proc/PID/stat, behind the name."""


class Holder(Model):
    """A process that wants a setting, of a session."""

    session: str
    pid: int
    started: str

    @property
    def is_alive(self) -> bool:
        """Whether it is still the same process."""
        return _started(self.pid) == self.started


def this_process(session: str) -> Holder:
    """The one that runs the session."""
    pid = os.getpid()
    return Holder(session=session, pid=pid, started=_started(pid))


def _started(pid: int) -> str:
    words = HERE.text(f"proc/{pid}/stat").rpartition(")")[2].split()
    return words[STARTED] if len(words) > STARTED else ""


class Kept(Model):
    """A setting. `lost` is what the kernel forgets when it is changed."""

    before: str
    set: str
    lost: dict[str, str] = {}
    holders: tuple[Holder, ...] = ()

    def left_by(self, gone: Holder | None) -> tuple[Holder, ...]:
        """Who still wants it, without one, and without those that have died."""
        return tuple(one for one in self.holders if one != gone and one.is_alive)


class Ledger(Model):
    """All settings, by their files below `/`."""

    boot: str
    settings: dict[str, Kept] = {}


class LedgerFile:
    """The ledger, while nobody else has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = self._read()

    def _read(self) -> dict[str, Kept]:
        try:
            ledger = Ledger.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise HostError(
                "what sessions have set on this host cannot be read from "
                f"{self.path}: restore the settings in it manually, and remove it",
                HostFault.HOST_LEDGER,
            ) from error
        return dict(ledger.settings) if ledger.boot == _boot() else {}

    def save(self) -> None:
        """On the disk when it returns. Raises HostError."""
        ledger = Ledger(boot=_boot(), settings=self.settings)
        try:
            rewrite(self.path, ledger.model_dump_json(indent=1).encode())
        except (OSError, OutputError) as error:
            raise _not_kept(self.path, error) from error


def _boot() -> str:
    return HERE.text("proc/sys/kernel/random/boot_id")


def _not_kept(path: Path, error: Exception) -> HostError:
    return HostError(
        f"what the host is set to now cannot be written to {path} ({error}), so it "
        "could not be restored; nothing else was changed",
        HostFault.HOST_LEDGER,
    )


def ledger_path() -> Path:
    """Where it is, if anything was ever set here."""
    return state_folder() / "host" / "settings.json"


def has_ledger() -> bool:
    """Whether this user has set anything here; in another's folder it has not."""
    try:
        return ledger_path().exists()
    except PermissionError:
        return False


@contextmanager
def opened_ledger() -> Iterator[LedgerFile]:
    """Waits for others, who hold it for an instant. Raises HostError."""
    path = ledger_path()
    try:
        make_private(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path.with_name("lock"), flags, 0o600)
    except OSError as error:
        raise _not_kept(path, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield LedgerFile(path)
    finally:
        os.close(fd)


# Putting back what was there before sessions, unless somebody has changed it since.


def put_back(
    ledger: LedgerFile,
    tree: Tree,
    on_note: Callable[[str], None],
    *,
    gone: Holder | None = None,
    but: Container[str] = (),
) -> None:
    """All that no living session wants; `gone` is the one that ends now.

    `but` are files that are about to be set anew. What cannot be put back stays in the
    ledger. Raises HostError.
    """
    due: dict[str, Kept] = {}
    before = dict(ledger.settings)
    for name, kept in before.items():
        holders = kept.left_by(gone)
        ledger.settings[name] = kept.model_copy(update={"holders": holders})
        if not holders and name not in but:
            due[name] = kept
    now = {name: current(tree, name) for name in due}  # before one changes another
    for name, kept in due.items():
        for text in _one(name, kept, now[name], ledger, tree):
            on_note(text)
    if ledger.settings != before:
        ledger.save()


def _one(
    name: str, kept: Kept, now: str | None, ledger: LedgerFile, tree: Tree
) -> Iterator[str]:
    """Sentences on what was not put back, and on what another's session left."""
    if now not in (kept.set, kept.before, None):
        yield (
            f"/{name} is {now}, which was set by someone else in the meantime; it is "
            f"not restored (it was {kept.before} before the session, which set "
            f"{kept.set})"
        )
    elif now == kept.set and now != kept.before:
        try:
            write(tree, name, kept.before)
        except (OSError, HostError) as error:
            yield _not_put_back(name, kept.before, error)
            return  # `ioplan lab restore` may do it later
        if not all(one.is_alive for one in kept.holders):
            was = f"left by a killed session: {now}"
            yield f"/{name} is {kept.before} again; {was}"
        yield from _forgotten(kept.lost, tree)
    del ledger.settings[name]


def _forgotten(lost: dict[str, str], tree: Tree) -> Iterator[str]:
    """What the kernel has reset with a setting."""
    for name, text in lost.items():
        if (now := current(tree, name)) is None or now == text:
            continue
        try:
            write(tree, name, text)
        except (OSError, HostError) as error:
            yield _not_put_back(name, text, error)


def _not_put_back(name: str, text: str, error: Exception) -> str:
    why = getattr(error, "strerror", None) or error
    return f"/{name} cannot be set back to {text}: {why}"
