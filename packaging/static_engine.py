"""Builds the programs as static ones, which run on any Linux: any libc, or none.

    python packaging/static_engine.py x86_64 aarch64      # prints the programs' paths

musl, as it may be linked statically under its licence (MIT) and asks for no version of
the host's libc. zig links: it has musl for each processor, so no compiler of the other
is needed. Rust's standard library for musl is rustup's, where that has been told to
bring it (`rustup target add x86_64-unknown-linux-musl`); else it is built from the
sources that Debian ships, by their compiler, unpacked into build/rust.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "plugins/io_uring/engine"
sys.path.insert(0, str(CRATE))
from stamp import CRATES, write_stamp  # noqa: E402

BUILD = ROOT / "build"
MACHINES = ("x86_64", "aarch64")
COMPILER, LIBRARY = "rustc-web", "rust-web-src"
"""Debian's newest Rust, which it keeps for its browsers."""
PARTS = ("libstd-rust", "libllvm")


def static_engine(machine: str) -> Path:
    """Build both for a processor; returns the engine, with the device beside it.

    Raises CalledProcessError, SystemExit with advice.
    """
    target = f"{machine}-unknown-linux-musl"
    command = ["cargo-zigbuild", "zigbuild", "--release", "--locked", "--quiet"]
    env = {"CARGO_TARGET_DIR": str(BUILD / "engine"), "PATH": _path()}
    if target not in _of_rustup():
        command.append("-Zbuild-std=std,panic_unwind")
        env |= _of_debian()
    env["RUSTFLAGS"] = " ".join(("-Clink-self-contained=no", *_without_places()))
    command += ["--target", target]
    made = BUILD / "engine" / target / "release"
    for name, crate in CRATES.items():
        subprocess.run(command, cwd=ROOT / crate, env=os.environ | env, check=True)
        write_stamp(made / name)
    return made / "ioplan-engine"


def _without_places() -> Iterator[str]:
    """Sources are named without this machine's folders: each build is equal.

    zig brings what starts a program, so that Rust's own is not linked.
    """
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    for place, name in ((ROOT, "ioplan"), (cargo, "cargo"), (BUILD / "rust", "rust")):
        yield f"--remap-path-prefix={place}={name}"


def _path() -> str:
    """This Python's programs first: cargo-zigbuild and zig are packages of it."""
    here = Path(sys.executable).parent
    cargo = Path.home() / ".cargo/bin"
    return os.pathsep.join([str(here), os.environ["PATH"], str(cargo)])


def _of_rustup() -> list[str]:
    """The targets whose standard library rustup has installed."""
    rustup = shutil.which("rustup", path=_path())
    if rustup is None:
        return []
    command = [rustup, "target", "list", "--installed"]
    return subprocess.run(
        command, cwd=CRATE, capture_output=True, text=True, check=True
    ).stdout.split()


def _of_debian() -> dict[str, str]:
    """Debian's compiler with the sources of its library, for cargo's environment."""
    root = BUILD / "rust"
    if not (root / "complete").exists():
        if shutil.which("apt-get") is None:
            raise SystemExit(
                "Rust's library for musl is not here: rustup target add "
                + " ".join(f"{machine}-unknown-linux-musl" for machine in MACHINES)
            )
        _unpack(root)
    libraries = [root / "usr/lib" / f"{os.uname().machine}-linux-gnu", root / "usr/lib"]
    return {
        "RUSTC": str(root / "usr/bin/rustc"),
        "RUSTC_BOOTSTRAP": "1",  # for -Zbuild-std, with a stable compiler
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
    }


def _unpack(root: Path) -> None:
    """Download the packages and lay them out; nothing is installed."""
    shutil.rmtree(root, ignore_errors=True)
    packages = root / "packages"
    packages.mkdir(parents=True)
    wanted = [COMPILER, LIBRARY, *_needed_by(COMPILER)]
    subprocess.run(["apt-get", "download", "-qq", *wanted], cwd=packages, check=True)
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, root], check=True)
    shutil.rmtree(packages)
    (root / "complete").touch()


def _needed_by(package: str) -> list[str]:
    """The compiler's own libraries, with those that they need in turn."""
    command = ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests"]
    command += ["--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"]
    done = subprocess.run(
        [*command, package], capture_output=True, text=True, check=True
    )
    lines = {line for line in done.stdout.splitlines() if line.startswith(PARTS)}
    return sorted(lines)


def main() -> None:
    """Build for each processor that is named, and print where the programs are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machines", nargs="+", choices=MACHINES)
    for machine in parser.parse_args().machines:
        print(static_engine(machine))


if __name__ == "__main__":
    main()
