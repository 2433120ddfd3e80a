"""The Rust compiler of this machine: whether it builds the programs, and the build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from stamp import CRATES, ROOT

Version = tuple[int, int]


def cargo() -> str | None:
    """The path of cargo; rustup's is found without PATH, too."""
    rustups = str(Path.home() / ".cargo" / "bin")
    return shutil.which("cargo") or shutil.which("cargo", path=rustups)


def needed_version() -> Version:
    """The oldest release of Rust that builds all programs."""
    manifests = ((ROOT / crate / "Cargo.toml").read_text() for crate in CRATES.values())
    return max(map(_rust_version, manifests))


def _rust_version(manifest: str) -> Version:
    major, minor = re.findall(r'^rust-version = "(\d+)\.(\d+)', manifest, re.M)[0]
    return int(major), int(minor)


def fault() -> str:
    """Why nothing can be built here, such as "cargo 1.65 is too old"; else empty."""
    program, needed = cargo(), needed_version()
    if program is None:
        return f"Rust {_text(needed)} or newer is needed, and cargo was not found"
    command = [program, "--version"]
    done = subprocess.run(command, stdout=-1, stderr=-1, text=True, check=False)
    version = re.match(r"cargo (\d+)\.(\d+)", done.stdout)
    if version is None:
        reason = (done.stderr.strip() or "no version").splitlines()[0]
        return f"{program} does not work: {reason}"
    found = int(version[1]), int(version[2])
    if found < needed:
        return f"Rust {_text(needed)} or newer is needed, and cargo is {_text(found)}"
    return "" if shutil.which("cc") else "a C compiler is needed to link, as cc"


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _lines(pipe: int) -> Iterator[str]:
    """Each line as soon as it ends, also one that the next is to be written over."""
    begun = b""
    while text := os.read(pipe, 1 << 16):
        *ended, begun = re.split(rb"[\r\n]+", begun + text)
        yield from (line.decode(errors="replace") for line in ended)
    yield from filter(None, [begun.decode(errors="replace")])


def build(name: str, on_line: Callable[[str], None] = print) -> Path:
    """Build a program, and return its path; cargo's lines go to a function.

    Raises CalledProcessError, with all lines as its output.
    """
    crate = ROOT / CRATES[name]
    command = [str(cargo()), "build", "--release", "--locked"]
    building = subprocess.Popen(command, cwd=crate, stderr=subprocess.PIPE)
    assert building.stderr
    lines = []
    for line in _lines(building.stderr.fileno()):
        lines.append(line)
        on_line(line)
    if code := building.wait():
        raise subprocess.CalledProcessError(code, command, "\n".join(lines))
    target = Path(os.environ.get("CARGO_TARGET_DIR") or crate / "target")
    return target / "release" / name
