"""Makes the demo in fresh clones on fresh systems, and prints what a person sees.

    python packaging/try_clone.py [NAME...]    # as root, with a network; all by default

Each system is laid out by debootstrap in build/clones, once, with or without Debian's
Rust, or with the toolchain of this host; the clone is that of HEAD. The rows go into
docs/install.md. What this host says to pip, cargo and TLS holds there, too.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from textwrap import shorten

from msgspec import Struct
from static_engine import BUILD, ROOT
from table import write_rows

ROOTS = BUILD / "clones"
HOST_FILES = ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt", "etc/pip.conf")
HOST_VARIABLES = ("PIP_CERT", "PIP_DEFAULT", "PIP_INDEX", "CARGO_", "SSL_", "REQUESTS_")
CURRENT = "current"
"""This host's toolchain; a system has only the C compiler then."""
TOOLCHAIN = "/opt/rust"
HEAD = (
    "| system | Rust | clone | first line | after | report after | again |\n"
    "|---|---|---|---|---|---|---|\n"
)


class Case(Struct, frozen=True):
    """A system with its Rust, and who calls make where."""

    name: str
    system: str
    suite: str
    rust: str = ""
    folder: str = "ioplan"
    user: str = "root"

    @property
    def uid(self) -> int:
        """Who calls make."""
        return pwd.getpwnam(self.user).pw_uid

    @property
    def root(self) -> Path:
        """The system's files."""
        return ROOTS / f"{self.suite}-{self.rust or 'none'}"


CASES = (
    Case("old-python", "Debian 11", "bullseye"),
    Case("no-rust", "Debian 12", "bookworm"),
    Case("old-rust", "Debian 12", "bookworm", "cargo"),
    Case("rust", "Debian 12", "bookworm", "cargo-web"),
    Case("newest-rust", "Debian 12", "bookworm", CURRENT),
    Case("no-rust-13", "Debian 13", "trixie"),
    Case("user", "Debian 13", "trixie", "cargo", user="nobody"),
    Case("spaces", "Debian 13", "trixie", "cargo", "a folder of mine"),
)


class Demo(Struct, frozen=True):
    """What a call of make printed, and when; the report, if there is one."""

    lines: list[str]
    first_s: float
    end_s: float
    code: int

    @property
    def row(self) -> str:
        """The cells of the table: the first line, when it came, and the report."""
        ended = f"{self.end_s:.0f} s" if self.code in (0, 1) else "none"
        line = shorten(self.lines[0], 72, placeholder=" …")
        return f"{line} | {self.first_s:.1f} s | {ended}"


def lay_out(case: Case) -> None:
    """Make the system's files, unless they are there."""
    if not (case.root / "complete").exists():
        shutil.rmtree(case.root, ignore_errors=True)
        case.root.mkdir(parents=True)
        # Its mounts end with it, however it ends: the next call removes the folder.
        command = ["unshare", "--mount", "debootstrap", "--variant=minbase"]
        command += ["--include=make,python3-venv", case.suite, str(case.root)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        copy_host_files(case.root)
        if case.rust:
            packages = "gcc libc6-dev" if case.rust == CURRENT else case.rust
            install = f"apt-get update -qq && apt-get install -qq -y {packages}"
            inside(case, install).wait()
        (case.root / "complete").touch()
    copy_host_files(case.root)


def copy_host_files(root: Path) -> None:
    """What this host says of names, certificates and pip."""
    for name in HOST_FILES:
        if (source := Path("/", name)).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, root / name)


def inside(
    case: Case, command: str, uid: int = 0, *, network: bool = True
) -> subprocess.Popen[str]:
    """Start a shell's command in the system, with mounts of its own."""
    mounts = f"cd {case.root}; mkdir -p proc dev sys; mount -t proc proc proc; "
    mounts += "mount --rbind /dev dev; mount --rbind /sys sys; "
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    if case.rust == CURRENT:
        mounts += (
            f"mkdir -p .{TOOLCHAIN}; mount --bind {host_toolchain()} .{TOOLCHAIN}; "
        )
        path = f"{TOOLCHAIN}/bin:{path}"
    quoted = shlex.quote(f"exec 2>&1; {command}")
    call = f"{mounts} exec chroot --userspec={uid}:{uid} {case.root} sh -c {quoted}"
    env = {"PATH": path, "HOME": "/home/new"}
    env |= {k: v for k, v in os.environ.items() if k.startswith(HOST_VARIABLES)}
    apart = ["--mount", "--pid", "--fork", *([] if network else ["--net"])]
    unshare = ["unshare", *apart, "sh", "-ec", call]
    return subprocess.Popen(unshare, env=env, stdout=subprocess.PIPE, text=True)


def host_toolchain() -> str:
    """The folder of this host's Rust."""
    command = ["rustc", "--print", "sysroot"]
    return subprocess.check_output(command, text=True).strip()


def clone(case: Case) -> Path:
    """The files of HEAD in a new folder of the system, its user's own."""
    home = case.root / "home/new"
    shutil.rmtree(home, ignore_errors=True)
    folder = home / case.folder
    folder.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    subprocess.run(["chown", "-R", f"{case.uid}:{case.uid}", str(home)], check=True)
    return folder


def make_demo(case: Case, *, network: bool = True) -> Demo:
    """`make demo` in the clone; its output is read as it comes."""
    start, lines, first_s = time.monotonic(), [], 0.0
    command = f"cd '/home/new/{case.folder}' && make demo"
    with inside(case, command, case.uid, network=network) as making:
        for line in making.stdout or ():
            first_s = first_s or time.monotonic() - start
            lines.append(line)
    return Demo(lines, first_s, time.monotonic() - start, making.returncode)


def tried(case: Case) -> str:
    """The row of a case: the demo, and the demo again, without a network."""
    lay_out(case)
    folder = clone(case)
    first = make_demo(case)
    report = folder / "demo/report.html"
    reports = first.code in (0, 1) and report.exists()
    (BUILD / f"clone-{case.name}.log").write_text("".join(first.lines))
    again = make_demo(case, network=False) if reports else first
    shutil.rmtree(folder.parent)
    assert again.code in (first.code, 0, 1), "".join(again.lines)
    end = f"{again.end_s:.0f} s" if reports else "the same"
    where = f"`{case.folder}`" + (", a plain user" if case.user == "nobody" else "")
    return f"| {case.system} | {case.rust or 'none'} | {where} | {first.row} | {end} |"


def main() -> None:
    """Try all, or those that are named."""
    for case in CASES:
        if not sys.argv[1:] or case.name in sys.argv[1:]:
            row = tried(case)
            print(row, flush=True)
            write_rows("clones", HEAD, row, key=3)


if __name__ == "__main__":
    main()
