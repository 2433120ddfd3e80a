"""Makes what a package has beside its sources: the engine and the parser's tables.

Without cargo the package still installs; the io_uring backend then says that
the engine was not built and how to build it. Without the tables it still works:
they are made on the first use.

IOPLAN_WHEEL names the engine that goes into a wheel; unset, cargo builds one, and with
`pure` there is none. A static engine makes a wheel for all Linux of its processor.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
from stamp import fits, stamp_of, write_stamp

CRATE = Path("plugins/io_uring/engine")
PLACE = Path("plugins/io_uring/ioplan_io_uring/bin/ioplan-engine")
IN_WHEEL = "ioplan_io_uring/bin"
SOURCES = Path("dsl")
TABLES = Path("ioplan/language/syntax/grammar.tables")
MAKE_TABLES = "from ioplan.language.syntax.reader import grammar; grammar()"
"""Writes them into the sources, unless they are there and of this grammar."""
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
                self._place_engine()
            else:
                self._add_engine(build_data)

    def _add_tables(self, version: str, build_data: dict[str, Any]) -> None:
        sources = Path(self.root) / SOURCES
        command = [sys.executable, "-c", MAKE_TABLES]
        path = {"PYTHONPATH": str(sources)}
        subprocess.run(command, env=os.environ | path, check=False)
        if not (sources / TABLES).exists():
            self.app.display_warning("the parser's tables are made on the first use")
        elif version != "editable":
            build_data["force_include"][str(sources / TABLES)] = str(TABLES)

    def _place_engine(self) -> None:
        """An editable install finds the binary beside the package's source."""
        place = Path(self.root) / PLACE
        engine = None if fits(place) else self._built()
        if engine is not None:
            place.parent.mkdir(exist_ok=True)
            fresh = place.with_suffix(".new")
            shutil.copy2(engine, fresh)
            fresh.replace(place)
            write_stamp(place)

    def _add_engine(self, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("IOPLAN_WHEEL", "")
        engine = None if wanted == "pure" else Path(wanted) if wanted else self._built()
        if engine is None:
            return
        if not wanted:
            write_stamp(engine)
        elif not fits(engine):
            raise ValueError(f"{engine} is not of these sources, or has no stamp")
        build_data["tag"] = f"py3-none-{_runs_on(engine)}"
        build_data["pure_python"] = False
        for file in (engine, stamp_of(engine)):
            build_data["force_include"][str(file)] = f"{IN_WHEEL}/{file.name}"

    def _built(self) -> Path | None:
        """The binary, or None where there is no cargo. A failing build is an error."""
        cargo = shutil.which("cargo") or shutil.which(
            "cargo", path=str(Path.home() / ".cargo" / "bin")
        )
        if cargo is None:
            self.app.display_warning(
                "cargo was not found: ioplan installs without its io_uring engine"
            )
            return None
        crate = Path(self.root) / CRATE
        subprocess.run([cargo, "build", "--release", "--locked"], cwd=crate, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR") or crate / "target")
        return target / "release" / "ioplan-engine"


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
