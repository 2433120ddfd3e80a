"""Makes what a package has beside its sources: the engine and the parser's tables.

Without cargo the package still installs; the io_uring backend then says that
the engine was not built and how to build it. Without the tables it still works:
they are made on the first use.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CRATE = Path("plugins/io_uring/engine")
PLACE = Path("plugins/io_uring/ioplan_io_uring/bin/ioplan-engine")
SOURCES = Path("dsl")
TABLES = Path("ioplan/language/syntax/grammar.json")
MAKE_TABLES = "from ioplan.language.syntax.grammar import grammar; grammar()"
"""Writes them into the sources, unless they are there and of this grammar."""


class PackageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's custom build hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make both before the wheel is put together."""
        if self.target_name == "wheel":
            self._add_tables(version, build_data)
            self._add_engine(version, build_data)

    def _add_tables(self, version: str, build_data: dict[str, Any]) -> None:
        sources = Path(self.root) / SOURCES
        command = [sys.executable, "-c", MAKE_TABLES]
        path = {"PYTHONPATH": str(sources)}
        subprocess.run(command, env=os.environ | path, check=False)
        if not (sources / TABLES).exists():
            self.app.display_warning("the parser's tables are made on the first use")
        elif version != "editable":
            build_data["force_include"][str(sources / TABLES)] = str(TABLES)

    def _add_engine(self, version: str, build_data: dict[str, Any]) -> None:
        engine = self._built()
        if engine is None:
            self.app.display_warning(
                "cargo was not found: ioplan installs without its io_uring engine"
            )
            return
        build_data["tag"] = f"py3-none-{_platform()}"
        build_data["pure_python"] = False
        if version == "editable":
            self._place(engine)
        else:
            included = build_data["force_include"]
            included[str(engine)] = "ioplan_io_uring/bin/ioplan-engine"

    def _built(self) -> Path | None:
        """The binary, or None where there is no cargo. A failing build is an error."""
        cargo = shutil.which("cargo") or shutil.which(
            "cargo", path=str(Path.home() / ".cargo" / "bin")
        )
        if cargo is None:
            return None
        crate = Path(self.root) / CRATE
        subprocess.run([cargo, "build", "--release", "--locked"], cwd=crate, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR") or crate / "target")
        return target / "release" / "ioplan-engine"

    def _place(self, engine: Path) -> None:
        """An editable install finds the binary beside the package's source."""
        place = Path(self.root) / PLACE
        place.parent.mkdir(exist_ok=True)
        fresh = place.with_suffix(".new")
        shutil.copy2(engine, fresh)
        fresh.replace(place)


def _platform() -> str:
    """The wheel's platform tag, for example linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
