"""Takes the engine of a wheel of the same sources, so that it need not be built.

    python packaging/prebuilt_engine.py

Looked at are the wheels in dist/ and, where cargo is not here to build it, the
published wheel of this version. An engine of other sources is not taken.
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

PLACE = ROOT / "plugins/io_uring/ioplan_io_uring/bin/ioplan-engine"
IN_WHEEL = "ioplan_io_uring/bin/ioplan-engine"


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
    """Put the wheel's engine into its place, if it is of these sources."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as packed:
        if f"{IN_WHEEL}.sources" not in packed.namelist():
            return False
        for name in (IN_WHEEL, f"{IN_WHEEL}.sources"):
            packed.extract(name, folder)
        engine = Path(folder, IN_WHEEL)
        if not fits(engine):
            return False
        engine.chmod(0o755)
        PLACE.parent.mkdir(exist_ok=True)
        shutil.copy2(stamp_of(engine), stamp_of(PLACE))
        shutil.copy2(engine, PLACE)
    return True


def main() -> None:
    """Take the first that fits, unless there is one."""
    with tempfile.TemporaryDirectory() as folder:
        if not fits(PLACE):
            next(filter(taken, wheels(Path(folder))), None)


if __name__ == "__main__":
    main()
