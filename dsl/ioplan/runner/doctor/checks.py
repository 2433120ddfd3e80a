"""What is looked at: one function for each thing, which tells how to mend it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ioplan.backends.backend import Availability
from ioplan.core.extras import install_command
from ioplan.runner.telemetry.cpu_facts import governor
from ioplan.runner.telemetry.procfs import Tree

# A machine as it is looked at, and what is said of it.

State = Literal["works", "limited", "no"]
INSTALLERS = {
    "debian": "sudo apt install",
    "ubuntu": "sudo apt install",
    "fedora": "sudo dnf install",
    "rhel": "sudo dnf install",
    "suse": "sudo zypper install",
    "arch": "sudo pacman -S",
    "alpine": "sudo apk add",
}
"""By the names that /etc/os-release has for a system, and for what it is like."""


class Finding(Struct, frozen=True):
    """What was found of one thing; `mend` is a command, empty where all is well."""

    name: str
    state: State
    text: str
    mend: str = ""


class Machine:
    """Files below a root, a user, and what can be asked of programs and packages."""

    def __init__(
        self,
        backend: Callable[[str], Availability],
        *,
        tree: Tree | None = None,
        user: int | None = None,
        groups: tuple[int, ...] | None = None,
        programs: str | None = None,
        has_package: Callable[[str], object] = find_spec,
    ) -> None:
        """`programs` are folders as in PATH; `backend` tells what a backend can do."""
        self.backend = backend
        self.tree = tree or Tree()
        self.user = os.geteuid() if user is None else user
        self.groups = tuple(os.getgroups()) if groups is None else groups
        self.programs = programs
        self.has_package = has_package

    def program(self, *names: str) -> str | None:
        """The first of them that can be run."""
        found = (shutil.which(name, path=self.programs) for name in names)
        return next(filter(None, found), None)

    def may_write(self, path: Path) -> bool:
        """Whether its mode lets this user read and write it."""
        status = path.stat()
        shift = 6 if status.st_uid == self.user else 0
        if not shift and status.st_gid in self.groups:
            shift = 3
        return self.user == 0 or (status.st_mode >> shift) & 6 == 6

    def installing(self, package: str) -> str:
        """The command that installs a package of this system."""
        lines = self.tree.text("etc/os-release").splitlines()
        known = dict(line.split("=", 1) for line in lines if "=" in line)
        names = [known.get("ID", ""), *known.get("ID_LIKE", "").strip('"').split()]
        found = (INSTALLERS[name] for name in names if name in INSTALLERS)
        return f"{next(found, 'install')} {package}"


SLOW_GOVERNORS = ("powersave", "conservative", "ondemand")
GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
CLOCK = "sys/devices/system/clocksource/clocksource0"
DISKS = "sys/block/*"
NO_DISKS = re.compile(r"(loop|ram|zram|sr|fd|dm-|md|nbd)\d*")
LIMITS = "/etc/security/limits.d/ioplan.conf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox")
LOCKED_BYTES = 1 << 23
"""Locked memory for buffers at queue depth 64 with 128 KiB each."""


def check_engine(machine: Machine) -> Finding:
    """The backend io_uring: its program, and whether the kernel lets it."""
    here = machine.backend("io_uring")
    if not here.usable:
        mend = "make demo    # in a clone; else install a release's wheel"
        return Finding(name="engine", state="no", text=here.reason, mend=mend)
    if here.reason:
        return Finding(name="engine", state="limited", text=here.reason)
    text = f"io_uring, version {here.version}"
    return Finding(name="engine", state="works", text=text)


def check_io_uring(machine: Machine) -> Finding:
    """Whether the kernel has been told to refuse io_uring, or a container's profile."""
    level = machine.tree.number("proc/sys/kernel/io_uring_disabled") or 0
    group = machine.tree.number("proc/sys/kernel/io_uring_group")
    if level == 0 or (level == 1 and (machine.user == 0 or group in machine.groups)):
        return _tried_io_uring(machine)
    return Finding(
        name="io_uring",
        state="limited",
        text=f"kernel.io_uring_disabled is {level}: one thread per I/O is used instead",
        mend="sudo sysctl kernel.io_uring_disabled=0",
    )


def _tried_io_uring(machine: Machine) -> Finding:
    """What the engine saw where the kernel's setting allows it."""
    here = machine.backend("io_uring")
    if not here.usable or not here.reason:
        return Finding(name="io_uring", state="works", text="allowed by the kernel")
    return Finding(
        name="io_uring",
        state="limited",
        text="allowed by the kernel, but blocked for this process, as in containers",
        mend="podman run --security-opt seccomp=unconfined --ulimit memlock=-1 …",
    )


def check_locked_memory(machine: Machine) -> Finding:
    """How much memory the user may lock, which buffers of io_uring count as."""
    limits = machine.tree.text("proc/self/limits")
    found = re.search(r"^Max locked memory +(\S+)", limits, re.M)
    most = found[1] if found else "unlimited"
    if machine.user == 0 or not most.isdigit() or int(most) >= LOCKED_BYTES:
        return Finding(name="locked memory", state="works", text="enough")
    return Finding(
        name="locked memory",
        state="limited",
        text=f"{int(most) >> 10} KiB: buffers are not registered at high queue depth",
        mend=f"echo '* - memlock unlimited' | sudo tee {LIMITS}",
    )


def check_drives(machine: Machine) -> Finding:
    """Whether this user may open the block devices; scratch files need no right."""
    names = [path.name for path in machine.tree.all(DISKS)]
    paths = [machine.tree.path(f"dev/{n}") for n in names if not NO_DISKS.fullmatch(n)]
    found = [path for path in paths if path.exists()]
    if not found:
        return Finding(name="drives", state="limited", text="none: use scratch files")
    closed = [path.name for path in found if not machine.may_write(path)]
    refused = [path.name for path in found if path.name not in closed and refusal(path)]
    if refused:
        text = f"the system refuses to open {', '.join(refused)}, as in containers"
        return Finding(name="drives", state="limited", text=text)
    if not closed:
        text = f"{', '.join(path.name for path in found)} can be opened"
        return Finding(name="drives", state="works", text=text)
    return Finding(
        name="drives",
        state="limited",
        text=f"no permission for {', '.join(closed)}; docs/security.md names one drive",
        mend='sudo usermod -aG disk "$USER"    # then log in again',
    )


def refusal(path: Path) -> str:
    """Why a device cannot be opened to read; a device of no drive counts as open."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except PermissionError as error:
        return error.strerror or "refused"
    except OSError:
        pass
    return ""


def check_fio(machine: Machine) -> Finding:
    """The program fio, of a version that the backend takes."""
    here = machine.backend("fio")
    if here.usable:
        return Finding(name="fio", state="works", text=here.version)
    mend = machine.installing("fio")
    return Finding(name="fio", state="no", text=here.reason, mend=mend)


def check_spdk(machine: Machine) -> Finding:
    """SPDK's programs; ioplan does not bring them."""
    here = machine.backend("spdk")
    if here.usable:
        return Finding(name="SPDK", state="works", text=here.version)
    mend = "export IOPLAN_SPDK_DIR=…    # the folder where SPDK was built"
    return Finding(name="SPDK", state="no", text=here.reason, mend=mend)


def check_huge_pages(machine: Machine) -> Finding:
    """Memory that SPDK needs."""
    text = machine.tree.text("proc/meminfo")
    free = re.search(r"^HugePages_Free: +(\d+)", text, re.M)
    if free and int(free[1]):
        return Finding(name="huge pages", state="works", text=f"{free[1]} free")
    return Finding(
        name="huge pages",
        state="limited",
        text="none free: only SPDK needs them",
        mend="sudo sysctl vm.nr_hugepages=1024",
    )


def check_browser(machine: Machine) -> Finding:
    """What shows a report."""
    found = machine.program(*BROWSERS)
    if found:
        return Finding(name="browser", state="works", text=found)
    return Finding(
        name="browser",
        state="limited",
        text="none: open reports on another machine",
        mend=machine.installing("chromium"),
    )


def check_postgres(machine: Machine) -> Finding:
    """The package for a store on a PostgreSQL server."""
    if machine.has_package("psycopg"):
        return Finding(
            name="PostgreSQL", state="works", text="its package is installed"
        )
    return Finding(
        name="PostgreSQL",
        state="limited",
        text="without psycopg, stores are SQLite files",
        mend=install_command("postgres"),
    )


def check_clock(machine: Machine) -> Finding:
    """What the kernel reads the time from: some sources take microseconds."""
    source = machine.tree.text(f"{CLOCK}/current_clocksource")
    if not source or source in GOOD_CLOCKS:
        text = source or "unknown; a container may hide it"
        return Finding(name="clock", state="works", text=text)
    offered = machine.tree.text(f"{CLOCK}/available_clocksource").split()
    better = next((one for one in GOOD_CLOCKS if one in offered), "")
    mend = f"echo {better} | sudo tee /{CLOCK}/current_clocksource" if better else ""
    text = f"{source} is slow to read, which adds to short latencies"
    return Finding(name="clock", state="limited", text=text, mend=mend)


def check_governor(machine: Machine) -> Finding:
    """Whether the CPUs run as fast as they can."""
    found = governor(machine.tree)
    if found and any(slow in found for slow in SLOW_GOVERNORS):
        return Finding(
            name="governor",
            state="limited",
            text=f"{found}: latencies are higher, especially at low queue depth",
            mend="sudo cpupower frequency-set -g performance",
        )
    text = found or "none: the system does not control the frequency"
    return Finding(name="governor", state="works", text=text)


CHECKS: tuple[Callable[[Machine], Finding], ...] = (
    *(check_engine, check_io_uring, check_locked_memory, check_drives),
    *(check_fio, check_spdk, check_huge_pages),
    *(check_clock, check_governor, check_browser, check_postgres),
)


def findings(machine: Machine) -> Iterator[Finding]:
    """All, in the order of CHECKS."""
    return (check(machine) for check in CHECKS)
