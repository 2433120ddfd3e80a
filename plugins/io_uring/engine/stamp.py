"""Of which sources a program was built, so that one which fits is not built again.

The stamp lies beside the program: the SHA-256 of the sources and of the program. It is
in the wheels too, so that a clone of the same sources may take the engine of a wheel.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CRATES = {
    "ioplan-engine": Path("plugins/io_uring/engine"),
    "ioplan-device": Path("plugins/witness/device"),
}
"""The programs that are built, and of what."""


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
            *sources,
        ):
            digest.update(f"{file.relative_to(ROOT).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
