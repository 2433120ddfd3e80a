"""Takes the programs of a wheel of the same sources, so that they need not be built.

    python packaging/prebuilt_engine.py

Looked at are the wheels in dist/ and, where cargo is not here to build it, the
published wheel of this version. Programs of other sources are not taken.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "plugins/io_uring/engine"))
from stamp import fits, stamp_of  # noqa: E402

PLACES = {
    "ioplan_io_uring/bin/ioplan-engine": ROOT / "plugins/io_uring",
    "ioplan/witness/bin/ioplan-device": ROOT / "dsl",
}
"""Where a wheel has them, and below which folder a clone has the same path."""


def wheels(folder: Path) -> Iterator[Path]:
    """Those that may be of use here: in the clone, then what pip finds."""
    here = f"*linux*_{platform.machine()}.whl"
    yield from (ROOT / "dist").glob(here)
    if not (shutil.which("cargo") or (Path.home() / ".cargo/bin/cargo").exists()):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--only-binary=:all:", "--disable-pip-version-check", "ioplan"]
        subprocess.run(pip, cwd=folder, capture_output=True, check=False)
        yield from folder.glob(here)


def taken(wheel: Path) -> bool:
    """Put the wheel's programs into their places, if they are of these sources."""
    with zipfile.ZipFile(wheel) as packed:
        return all([_taken(packed, name) for name in PLACES])


def _taken(packed: zipfile.ZipFile, name: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        if f"{name}.sources" not in packed.namelist():
            return False
        for file in (name, f"{name}.sources"):
            packed.extract(file, folder)
        program, place = Path(folder, name), PLACES[name] / name
        if not fits(program):
            return False
        program.chmod(0o755)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(stamp_of(program), stamp_of(place))
        shutil.copy2(program, place)
    return True


def main() -> None:
    """Take the first that fits, unless there are some."""
    with tempfile.TemporaryDirectory() as folder:
        if not all(fits(place / name) for name, place in PLACES.items()):
            next(filter(taken, wheels(Path(folder))), None)


if __name__ == "__main__":
    main()
