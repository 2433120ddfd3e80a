"""Of which sources a program was built, so that one which fits is not built again.

The stamp lies beside the program: the SHA-256 of the sources and of the program. It is
in the wheels too, so that a clone of the same sources may take the engine of a wheel.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CRATES = {
    "ioplan-engine": Path("plugins/io_uring/engine"),
    "ioplan-device": Path("plugins/witness/device"),
}
"""The programs that are built, and of what."""
PACKAGES = {
    "ioplan-engine": "plugins/io_uring/ioplan_io_uring",
    "ioplan-device": "plugins/witness/ioplan_witness",
}
"""Which folder has a program, in `bin`; its wheel has it without the first folders."""


def place_of(name: str) -> Path:
    """Where a clone has a program: beside the package that starts it."""
    return ROOT / PACKAGES[name] / "bin" / name


def in_wheel(program: str, file: str) -> str:
    """Where a wheel has a program's file."""
    package = PACKAGES[program]
    return f"{package[package.index('ioplan') :]}/bin/{file}"


def put(program: Path, name: str) -> None:
    """Copy a program that was built of these sources to its place, stamped."""
    place = place_of(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(".new")
    shutil.copy2(program, fresh)
    fresh.replace(place)
    write_stamp(place)


def stamp_of(engine: Path) -> Path:
    """Where an engine's stamp lies."""
    return engine.with_name(engine.name + ".sources")


def write_stamp(engine: Path) -> None:
    """Say that the engine was built of the sources as they are."""
    stamp_of(engine).write_text(_stamp(engine))


def fits(engine: Path) -> bool:
    """Whether it is there, as it was stamped, and of the sources as they are."""
    stamp = stamp_of(engine)
    both = engine.is_file() and stamp.is_file()
    return both and stamp.read_text() == _stamp(engine)


def _stamp(engine: Path) -> str:
    program = hashlib.sha256(engine.read_bytes()).hexdigest()
    return f"sources {_sources()}\nprogram {program}\n"


def _sources() -> str:
    """A digest of all that decides what is built of both programs, but the compiler."""
    digest = hashlib.sha256()
    for crate in CRATES.values():
        sources = sorted((ROOT / crate / "src").rglob("*.rs"), key=Path.as_posix)
        for file in (
            ROOT / crate / "Cargo.toml",
            ROOT / crate / "Cargo.lock",
            *(ROOT / crate).glob("build.rs"),
            *sources,
        ):
            digest.update(f"{file.relative_to(ROOT).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
