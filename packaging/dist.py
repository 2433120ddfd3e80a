"""Makes all that is published, in dist/.

    python packaging/dist.py [--machines x86_64 aarch64] [--only-wheels]

The source distribution first; the wheels are built of it, unpacked, so that it is
known to be complete. A wheel for each processor has the static engine, and one without
an engine is for machines that write, plan, rehearse and report.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from static_engine import BUILD, MACHINES, ROOT, static_engine

DIST = ROOT / "dist"


def build(folder: Path, kind: str, engine: str = "") -> Path:
    """Let the build backend make one, of the sources in a folder."""
    before = set(DIST.iterdir())
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(DIST)],
        cwd=folder,
        env=os.environ | {"IOPLAN_WHEEL": engine},
        check=True,
        capture_output=True,
    )
    (made,) = set(DIST.iterdir()) - before
    return made


def unpacked(sdist: Path) -> Path:
    """The sources as they are in the source distribution."""
    place = BUILD / "sdist"
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(sdist) as packed:
        packed.extractall(place, filter="data")
    return place / sdist.name.removesuffix(".tar.gz")


def packages(machines: list[str]) -> list[Path]:
    """The source distribution, and a wheel for each processor and for none."""
    sdist = build(ROOT, "sdist")
    sources = unpacked(sdist)
    engines = [str(static_engine(machine)) for machine in machines]
    wheels = [build(sources, "wheel", one) for one in ("pure", *engines)]
    assert not any("-linux_" in wheel.name for wheel in wheels), "they run anywhere"
    return [sdist, *wheels]


def main() -> None:
    """Make all, and name what was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", nargs="*", choices=MACHINES, default=MACHINES)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for made in packages(list(parser.parse_args().machines)):
        print(made.relative_to(ROOT))


if __name__ == "__main__":
    main()
