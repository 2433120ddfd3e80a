"""Opening a target. The default is to refuse.

Only what ioplan itself made or the user named with `--overwrite` is written to, and
of block devices only those that the lab permits. An open target is locked, and a
block device that is written to is open exclusively, until it is closed.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, suppress
from pathlib import Path

from ioplan.backends.backend import TargetFacts, TargetRequest
from ioplan.core.error_kinds import TargetFault
from ioplan.runner.devices.device import Device, NoDevice
from ioplan.runner.devices.facts import device_facts, file_facts
from ioplan.runner.devices.file_id import key_at, key_held
from ioplan.runner.devices.identity import differences, firmware_of
from ioplan.runner.devices.inventory import Host, Inventory, Obstacle
from ioplan.runner.devices.open_files import openers
from ioplan.runner.guard.consent import check_device_consent
from ioplan.runner.guard.data_check import Free, check_device_data, check_file_data
from ioplan.runner.guard.errors import (
    ConsentError,
    TargetError,
    check_kernel_files,
    missing,
    os_reason,
)
from ioplan.runner.guard.guard import (
    IN_USE,
    UseWatch,
    entry_refusals,
    file_entry_refusals,
    file_refusals,
    no_entry_text,
    open_refusals,
    refusals,
    unseen_uses,
)
from ioplan.runner.guard.known_content import KnownContent, known_content
from ioplan.runner.guard.pinned import opened, pinned
from ioplan.runner.guard.scratch_file import has_mark, make_scratch
from ioplan.runner.guard.shared_lock import (
    lock,
    locked,
    participants_of,
    share_lock,
    tries,
    try_lock,
    unrelated_openers,
)
from ioplan.runner.guard.size import check_size
from ioplan.runner.guard.survivor import survive
from ioplan.target_entry import LabTarget

__all__ = [
    "ConsentError",
    "Target",
    "TargetError",
    "make_scratch",
    "open_target",
]

FILE_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
READ = Free("")
"""Of no proof: the target is not written, or another host of the session opened it."""
KERNEL_FILES = ("/proc/", "/sys/")


class Target:
    """An open and locked target."""

    def __init__(
        self,
        facts: TargetFacts,
        fd: int,
        entry: LabTarget | None = None,
        known: KnownContent | None = None,
        watch: UseWatch | None = None,
    ) -> None:
        self.facts, self.fd, self.entry, self.known = facts, fd, entry, known
        self.watch = watch
        self.survivor = survive(facts, fd) if known else None

    def check_use(self) -> None:
        """Check that nothing else began to use what is written to; TargetError.

        What is on it then is no longer ioplan's.
        """
        try:
            if self.watch:
                self.watch.check()
        except BaseException:
            self.give_back()
            raise
        if self.survivor:
            self.survivor.note()

    def ignore_openings(self) -> None:
        """Who has opened it until now is the session itself."""
        if self.survivor:
            self.survivor.ignore_openings()

    def give_back(self) -> None:
        """What is on it now may be anybody's."""
        if self.survivor:
            self.survivor.stop()
        if self.known:
            self.known.disown()
        self.known = self.survivor = None

    def check_name(self) -> None:
        """Check that its path still leads to it, for programs that open it by path.

        Raises TargetError.
        """
        path = self.facts.path
        named, held = key_at(Path(path)), key_held(self.fd)
        if named is None or held is None:
            raise TargetError(f"{path} is gone", TargetFault.REPLACED)
        if named != held:
            raise TargetError(
                f"{path} was replaced since the session began; nothing was written to "
                "the replacement",
                TargetFault.REPLACED,
            )

    @property
    def is_gone(self) -> bool:
        """Whether it was a device that has been removed, or has no size any more, with
        which a removal begins."""
        try:
            status = os.fstat(self.fd)
            is_block = stat.S_ISBLK(status.st_mode)
            return is_block and not Device.numbered(status.st_rdev).disk.size_bytes
        except NoDevice:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Unlock it; further calls do nothing.

        One that is gone keeps what was known of it: why it is gone, the run says.
        """
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        with suppress(OSError), ExitStack() as last:
            last.callback(os.close, fd)
            if self.survivor:
                last.callback(self.survivor.stop)
            if self._was_written_by_others(fd):
                self.give_back()
            if self.known:
                self.known.learn(fd)

    def _was_written_by_others(self, fd: int) -> bool:
        """Whether another program cut it, or had it open for writing during a run."""
        if self.survivor:
            self.survivor.note()
        is_taken = self.survivor and self.survivor.is_taken
        return bool(is_taken or (self.watch and self.watch.is_resized(fd)))


def check_evidence(request: TargetRequest) -> str:
    """Why it is free to write, which nothing does yet. Raises TargetError."""
    target = open_target(request)
    if target.known:
        target.known.withdraw()
        target.known = None
    target.close()
    return target.facts.evidence


def open_target(request: TargetRequest) -> Target:
    """Open what the user named; it has to exist. Raises TargetError."""
    if request.path is None:
        raise TargetError(
            "no target: add --target PATH, and --create SIZE to create a scratch "
            "file there",
            TargetFault.NO_TARGET,
        )
    check_kernel_files()
    path = Path(request.path)
    try:
        with pinned(path, request.writes) as (pin, found):
            return _open(found, pin, request)
    except FileNotFoundError:
        raise missing(path) from None
    except PermissionError as error:
        raise TargetError(
            f"no permission to use {path}: {error.strerror}; run as a user with "
            "permission, for a device a member of its group",
            TargetFault.NO_PERMISSION,
        ) from None
    except (OSError, ValueError, NoDevice) as error:
        raise TargetError(f"cannot use {str(path)!r}: {os_reason(error)}") from None


def _open(path: Path, pin: int, request: TargetRequest) -> Target:
    status = os.fstat(pin)
    if stat.S_ISBLK(status.st_mode):
        return _open_device(path, pin, Device.numbered(status.st_rdev), request)
    if stat.S_ISREG(status.st_mode) and not str(path).startswith(KERNEL_FILES):
        return _open_file(path, pin, request)
    kind = FILE_KINDS.get(stat.S_IFMT(status.st_mode), "a kernel file")
    raise TargetError(
        f"{path} is not a file or block device, but {kind}; ioplan targets lists the "
        "block devices",
        TargetFault.NOT_A_TARGET,
    )


def _open_file(path: Path, pin: int, request: TargetRequest) -> Target:
    fd = _locked_file(path, pin, request)
    try:
        facts = file_facts(path, fd)
        check_size(facts, request)
        free = _check_file(path, fd, facts, request) if request.writes else READ
        share_lock(path, fd, request)
        return _free(facts, fd, request, free, _watch(path, fd, None, request))
    except BaseException:
        os.close(fd)
        raise


def _locked_file(path: Path, pin: int, request: TargetRequest) -> int:
    """The file, open and locked.

    Who waits for the lock does not keep it open for writing: the session that has the
    lock would take that for another use, and end.
    """
    for _ in tries():
        fd = opened(pin, os.O_RDWR if request.writes else os.O_RDONLY)
        if _is_locked_now(fd, request):
            return fd
    raise locked(path, pin)


def _is_locked_now(fd: int, request: TargetRequest) -> bool:
    """Whether it got the lock; else it is closed."""
    is_ours = False
    try:
        is_ours = try_lock(fd, request)
    finally:
        if not is_ours:
            os.close(fd)
    return is_ours


def _watch(
    path: Path, fd: int, device: Device | None, request: TargetRequest
) -> UseWatch | None:
    """None for what is only read: others may use it, too."""
    if not request.writes:
        return None
    return UseWatch(path, fd, device, participants_of(request))


def _check_file(
    path: Path, fd: int, facts: TargetFacts, request: TargetRequest
) -> Free:
    """Check all that must hold before a file is written to."""
    for obstacle in file_refusals(path, os.fstat(fd), Host(), participants_of(request)):
        raise _refused(path, obstacle)
    for obstacle in file_entry_refusals(request.entry) if request.entry else ():
        raise _not_permitted(path, obstacle, request)
    known = known_content(facts)
    why = known.proof(fd) if request.leads else ""
    if not (why and known.scratch if request.leads else has_mark(fd)):
        _check_sight(path, request)
    return check_file_data(path, fd, known, why, request) if request.leads else READ


def _open_device(
    path: Path, pin: int, device: Device, request: TargetRequest
) -> Target:
    inventory = Inventory()
    if request.writes:
        for obstacle in refusals(device, inventory.host):
            raise _refused(path, obstacle)
    fd = _open_fd(path, pin, request)
    try:
        lock(path, fd, request)
        identity = inventory.identity(device)
        facts = device_facts(path, fd, identity, firmware_of(device))
        known = known_content(facts)
        why = known.proof(fd) if request.writes and request.leads else ""
        _check_device(path, fd, device, request, inventory, is_own=bool(why))
        check_size(facts, request)
        free = READ
        if request.writes:
            _check_sight(path, request)
            free = _free_device(device, fd, known, why, inventory, request)
        share_lock(path, fd, request)
        return _free(facts, fd, request, free, _watch(path, fd, device, request))
    except BaseException:
        os.close(fd)
        raise


def _free_device(
    device: Device,
    fd: int,
    known: KnownContent,
    why: str,
    inventory: Inventory,
    request: TargetRequest,
) -> Free:
    """Of hosts that use it together only the first looks: it prepares the target before
    the others open it."""
    if request.leads:
        return check_device_data(device, fd, known, why, inventory, request)
    check_device_consent(device, inventory, request)
    return READ


def _free(
    facts: TargetFacts,
    fd: int,
    request: TargetRequest,
    free: Free,
    watch: UseWatch | None,
) -> Target:
    """The record says why it was free to write."""
    facts = facts.model_copy(update={"evidence": free.why})
    return Target(facts, fd, request.entry, free.known, watch)


def _open_fd(path: Path, pin: int, request: TargetRequest) -> int:
    """Exclusively if it is to be written, so that nobody can mount it meanwhile."""
    flags = os.O_RDWR | os.O_EXCL if request.writes else os.O_RDONLY
    was_unseen = False
    for _ in tries():
        try:
            return opened(pin, flags)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        found = openers(os.fstat(pin))
        others = unrelated_openers(found, participants_of(request))
        if not others and (found or was_unseen):
            break
        was_unseen = not found  # who had it may have ended before it was looked for
    for one in others:
        text = f"{path} is in use by {one}; stop that program first"
        raise TargetError(text, TargetFault.OPEN_ELSEWHERE)
    if found:  # the participant that leads has it exclusively, for this whole kernel
        return opened(pin, os.O_RDWR)
    raise _refused(path, IN_USE)


def _check_device(
    path: Path,
    fd: int,
    device: Device,
    request: TargetRequest,
    inventory: Inventory,
    *,
    is_own: bool,
) -> None:
    """Check all that must hold before a device is used; in this order."""
    identity = inventory.identity(device)
    if not request.writes:
        for wrong in differences(identity, request.entry) if request.entry else ():
            text = f"{path} is not the device that the lab names: {wrong}"
            raise TargetError(text, TargetFault.IDENTITY_MISMATCH)
        return
    for obstacle in open_refusals(device, fd, participants_of(request), is_own):
        raise _refused(path, obstacle)
    if request.entry is None:
        text = no_entry_text(path, identity, inventory.id(device), request.lab)
        raise TargetError(text, TargetFault.NO_ENTRY)
    for obstacle in entry_refusals(identity, request.entry, inventory.all):
        raise _not_permitted(path, obstacle, request)


def _check_sight(path: Path, request: TargetRequest) -> None:
    """Refuse what others may use unseen, unless somebody knows better."""
    entry = request.entry
    if request.cannot_see_users or (entry and entry.cannot_see_users):
        return
    for obstacle in unseen_uses():
        raise _refused(path, obstacle)


def _refused(path: Path, obstacle: Obstacle) -> TargetError:
    return TargetError(f"{path} {obstacle}", obstacle.kind)


def _not_permitted(
    path: Path, obstacle: Obstacle, request: TargetRequest
) -> TargetError:
    """By the lab's entry."""
    where = f"\n(the lab file is {request.lab})" if request.lab else ""
    return TargetError(f"cannot write to {path}: {obstacle}{where}", obstacle.kind)
