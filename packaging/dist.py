"""Makes all that is published, in dist/.

    python packaging/dist.py [--machines x86_64 aarch64] [--key ~/.ssh/id_ed25519]

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
from hashlib import sha256
from itertools import product
from pathlib import Path

from bill import bill, crates, licences, pages, python_packages, runtime
from offline import LIBCS, MADE, archive, debian_package, folder_of
from static_engine import BUILD, MACHINES, ROOT, static_engine

DIST = ROOT / "dist"
SIGNED_AS = "ioplan"
"""The namespace: no signature of a key for something else is one of a release."""


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
    shutil.unpack_archive(sdist, place)
    return place / sdist.name.removesuffix(".tar.gz")


def packages(machines: list[str]) -> list[Path]:
    """The source distribution, and a wheel for no processor and for each."""
    engines = {machine: str(static_engine(machine)) for machine in machines}
    sdist = build(ROOT, "sdist")
    sources = unpacked(sdist)
    wheels = [build(sources, "wheel", "pure")]
    linked = licences([*runtime(), *crates()])
    (sources / "LICENSE-engine.txt").write_text(linked)
    wheels += [build(sources, "wheel", engine) for engine in engines.values()]
    assert not any("-linux_" in wheel.name for wheel in wheels), "they run anywhere"
    return [sdist, *wheels]


def documents(wheels: Path) -> list[Path]:
    """The bill of materials and the licences of what is shipped with ours."""
    components = [*runtime(), *crates(), *python_packages(wheels), *pages()]
    texts = {"cdx.json": bill(version(), components), "licences": licences(components)}
    made = []
    for end, text in texts.items():
        made.append(DIST / f"ioplan.{end}")
        made[-1].write_text(text)
    return made


def version() -> str:
    """As the source distribution has it."""
    (sdist,) = (one for one in DIST.glob("*.tar.gz") if "offline" not in one.name)
    return sdist.name.removeprefix("ioplan-").removesuffix(".tar.gz")


def site() -> Path:
    """The documents as pages that need no network; a broken link is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    subprocess.run(command, cwd=ROOT, check=True)
    return BUILD / "site"


def offline(machine: str, libc: str, pages: Path) -> list[Path]:
    """The archive and, of glibc, the package for a processor; what is said of both."""
    (wheel,) = DIST.glob(f"*manylinux2014_{machine}*.whl")
    folder = folder_of(wheel, machine, libc)
    shutil.copytree(pages, folder / "docs")
    said = documents(folder / "wheels")
    for file in said:
        shutil.copy2(file, folder)
    if libc == "musl":
        return [archive(folder, f"{machine}-musl", DIST), *said]
    made = archive(folder, machine, DIST)
    return [made, debian_package(folder, machine, DIST), *said]


def checksums(files: list[Path]) -> Path:
    """What `sha256sum --check` reads: who signs this one file signs all."""
    made = DIST / "SHA256SUMS"
    lines = (f"{sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in files)
    made.write_text("".join(lines))
    return made


def signature(sums: Path, key: Path) -> Path:
    """Of the checksums, by a key of ssh: `ssh-keygen -Y verify` reads it.

    Raises CalledProcessError, after ssh-keygen has said why.
    """
    sign = ["ssh-keygen", "-Y", "sign", "-q", "-n", SIGNED_AS, "-f"]
    subprocess.run([*sign, str(key), str(sums)], check=True)
    return sums.with_name(f"{sums.name}.sig")


def main() -> None:
    """Make all, and name what was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", nargs="*", choices=MACHINES, default=MACHINES)
    parser.add_argument("--key", type=Path, help="a key of ssh; signs the checksums")
    asked = parser.parse_args()
    machines = list(asked.machines)
    os.umask(0o022)
    os.environ["SOURCE_DATE_EPOCH"] = str(MADE)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    made, pages = packages(machines), site()
    for name, libc in product(machines, LIBCS):
        made += offline(name, libc, pages)
    files = sorted(set(made))
    sums = checksums(files)
    signed = [signature(sums, asked.key)] if asked.key else []
    for one in (*files, sums, *signed):
        print(one.relative_to(ROOT))


if __name__ == "__main__":
    main()
