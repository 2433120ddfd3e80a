"""Makes what a package has beside its sources: two programs and the parser's tables.

Where Rust is missing or too old, the package still installs; the io_uring backend then
says that the engine was not built and how to build it, and `ioplan device` the same of
the test device. Without the tables it still works: they are made on the first use.

IOPLAN_WHEEL names the engine that goes into a wheel, with the device beside it; unset,
cargo builds both, and with `pure` there is neither. A static engine makes a wheel for
all Linux of its processor.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rust
from stamp import CRATES, fits, in_wheel, place_of, put, stamp_of, write_stamp

ENGINE, _ = CRATES
SOURCES = Path("dsl")
TABLES = Path("ioplan/language/syntax/grammar.tables")
MAKE_TABLES = """
from lark.parsers.grammar_analysis import LR0ItemSet
LR0ItemSet.__hash__ = lambda self: hash(self.kernel)
from ioplan.language.syntax.reader import grammar
grammar()
"""
"""Writes them into the sources, unless they are there and of this grammar.

lark numbers states as a set has them, which is by addresses and by the seed of hashes:
without both, two builds are equal.
"""
MACHINES = {62: "x86_64", 183: "aarch64"}
"""ELF's numbers of processors."""
INTERPRETER = 3
"""ELF's kind of segment that names the dynamic linker."""


class PackageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's custom build hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make both before the wheel is put together."""
        if self.target_name == "wheel":
            self._add_tables(version, build_data)
            if version == "editable":
                for name in CRATES:
                    self._place(name)
            else:
                self._add_programs(build_data)

    def _add_tables(self, version: str, build_data: dict[str, Any]) -> None:
        sources = Path(self.root) / SOURCES
        command = [sys.executable, "-c", MAKE_TABLES]
        own = {"PYTHONPATH": str(sources), "PYTHONHASHSEED": "0"}
        subprocess.run(command, env=os.environ | own, check=False)
        if not (sources / TABLES).exists():
            self.app.display_warning("the parser's tables are made on the first use")
        elif version != "editable":
            build_data["force_include"][str(sources / TABLES)] = str(TABLES)

    def _place(self, name: str) -> None:
        """An editable install finds the program beside the package's source."""
        if not fits(place_of(name)) and (program := self._built(name)):
            put(program, name)

    def _add_programs(self, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("IOPLAN_WHEEL", "")
        if wanted == "pure":
            return
        for name in CRATES:
            named = Path(wanted).with_name(name) if wanted else self._built(name)
            if named is not None and (name == ENGINE or not wanted or named.exists()):
                self._add(named, bool(wanted), build_data)

    def _add(self, program: Path, named: bool, build_data: dict[str, Any]) -> None:
        if not named:
            write_stamp(program)
        elif not fits(program):
            raise ValueError(f"{program} is not of these sources, or has no stamp")
        build_data["tag"] = f"py3-none-{_runs_on(program)}"
        build_data["pure_python"] = False
        for file in (program, stamp_of(program)):
            build_data["force_include"][str(file)] = in_wheel(program.name, file.name)

    def _built(self, name: str) -> Path | None:
        """The program, or None without Rust. A failing build is an error."""
        if fault := rust.fault():
            self.app.display_warning(f"ioplan installs without {name}: {fault}")
            return None
        return rust.build(name)


def _runs_on(engine: Path) -> str:
    """The platform tag: all Linux of a static program's processor, else this machine's.

    Raises ValueError.
    """
    program = engine.read_bytes()
    machine = MACHINES.get(struct.unpack_from("<H", program, 18)[0])
    if program[:4] != b"\x7fELF" or machine is None:
        raise ValueError(f"{engine} is no program that ioplan is published for")
    if _is_dynamic(program):
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
    libcs = ("manylinux_2_17", "manylinux2014", "musllinux_1_2")
    return ".".join(f"{libc}_{machine}" for libc in libcs)


def _is_dynamic(program: bytes) -> bool:
    """Whether it needs a dynamic linker: one of its segments names it."""
    (first,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    places = range(first, first + size * count, size)
    return any(struct.unpack_from("<I", program, at)[0] == INTERPRETER for at in places)
