"""The packages install where there is no compiler, and do the demo there."""

import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from command import program
from paths import ROOT
from scripts import packaging_script

from ioplan_io_uring import engine_path

DEMO = ROOT / "examples/demo.ioplan"
EXEC, INTERPRETER = 1, 3
STATIC = (
    ROOT / "build/engine" / f"{platform.machine()}-unknown-linux-musl"
    / "release/ioplan-engine"
)  # fmt: skip
"""Of `make dist`; without it the tests' own, which runs here."""


def module(path):
    """A script of the repository that is no part of a package."""
    spec = spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec and spec.loader
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


HOOK = module("plugins/io_uring/engine/build_hook.py")
STAMP = module("plugins/io_uring/engine/stamp.py")


def elf(folder, machine, *segments):
    """An ELF file of a processor, with segments of these kinds."""
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack(
        "<HHIQQQIHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(segments)
    )
    body = b"".join(struct.pack("<I52x", kind) for kind in segments)
    path = folder / "engine"
    path.write_bytes(head.ljust(64, b"\0") + body)
    return path


def test_a_static_engine_makes_a_wheel_for_all_linux_of_its_processor(tmp_path):
    tags = HOOK._runs_on(elf(tmp_path, 183, EXEC, EXEC))
    assert tags == "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_2_aarch64"
    assert "x86_64" in HOOK._runs_on(elf(tmp_path, 62, EXEC))


def test_another_engine_makes_a_wheel_for_this_machine(tmp_path):
    dynamic = elf(tmp_path, 62, EXEC, INTERPRETER)
    assert HOOK._runs_on(dynamic) == sysconfig.get_platform().replace("-", "_")
    with pytest.raises(ValueError, match="is no program that ioplan is published for"):
        HOOK._runs_on(elf(tmp_path, 3, EXEC))


def test_structs_that_musl_has_otherwise_are_not_written_out():
    """glibc's `sched_param` has one field and musl's five: only `make dist` told."""
    alike = {"iovec", "timespec"}
    sources = [
        one
        for crate in HOOK.CRATES.values()
        for one in (ROOT / crate).rglob("src/**/*.rs")
    ]
    written = {
        name
        for source in sources
        for name in re.findall(r"(?<!-> )libc::([a-z_]+) \{", source.read_text())
    }
    assert sources and written <= alike


def test_an_engine_fits_until_it_or_the_sources_change(tmp_path, monkeypatch):
    engine = elf(tmp_path, 62, EXEC)
    assert not STAMP.fits(engine)
    STAMP.write_stamp(engine)
    assert STAMP.fits(engine)
    monkeypatch.setattr(STAMP, "_sources", lambda: "others")
    assert not STAMP.fits(engine)
    monkeypatch.undo()
    elf(tmp_path, 183, EXEC)
    assert not STAMP.fits(engine)


ONLY = """
import sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.long
def test_what_the_build_needs_makes_the_tables(tmp_path):
    """pip builds with that alone; tables of the first use would outlive the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needs, installed = (
        {re.split("[<>=]", one)[0] for one in packages}
        for packages in (
            project["build-system"]["requires"],
            project["project"]["dependencies"],
        )
    )
    shutil.copytree(ROOT / "dsl/ioplan", tmp_path / "ioplan")
    tables = tmp_path / HOOK.TABLES
    tables.unlink(missing_ok=True)
    script = ONLY.format(absent=installed - needs) + HOOK.MAKE_TABLES
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, check=True)
    assert tables.exists()


def built(folder, place, kind, engine):
    """A wheel or the source distribution, of the sources in a folder."""
    before = set(place.iterdir())
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", place],
        cwd=folder,
        env=os.environ | {"IOPLAN_WHEEL": engine},
        capture_output=True,
        check=True,
    )
    (made,) = set(place.iterdir()) - before
    return made


def environment(folder):
    """A new one; only what ioplan depends on is ours. Returns how to call in it."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"))
    return ["env", "-i", f"PATH={folder}/bin:/usr/bin:/bin", f"HOME={folder}"]


PIP = ("pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall")


def said(command, *words):
    done = program(*command, *map(str, words), cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_packages_install_and_work_without_a_compiler(tmp_path):
    place = tmp_path / "dist"
    place.mkdir()
    shutil.unpack_archive(built(ROOT, place, "sdist", ""), tmp_path)
    (sources,) = tmp_path.glob("ioplan-*")

    pure = built(sources, place, "wheel", "pure")
    assert pure.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(pure).namelist() if "/bin/" in name]
    bare = environment(tmp_path / "bare")
    ioplan = [*bare, "ioplan"]
    said(bare, *PIP, pure)
    assert "rehearsed" in said(
        ioplan, "plan", "quick/laptop", "--capacity", "64MiB", "--rehearse"
    )
    assert "the engine was not built" in said(
        ioplan, "backends", "--backend", "io_uring"
    )

    engine = tmp_path / "ioplan-engine"
    shutil.copy2(STATIC if STAMP.fits(STATIC) else engine_path(), engine)
    STAMP.write_stamp(engine)
    whole = built(sources, place, "wheel", str(engine))
    assert whole.name.endswith(f"-py3-none-{HOOK._runs_on(engine)}.whl")
    said(bare, *PIP, whole)
    words = ("--test", "Read share", "--set", "run_time=50ms", "--create", "64MiB")
    shown = said(ioplan, "run", DEMO, "--target", tmp_path / "scratch.bin", *words)
    assert "7 runs kept" in shown
    said(bare, "pip", "uninstall", "--yes", "--quiet", "ioplan")
    left = [path for path in (tmp_path / "bare").rglob("*ioplan*")]
    assert not [path for path in left if "site-packages" in str(path)], left


def packed(place, engine):
    """A wheel with nothing but an engine and its stamp."""
    wheel = place / "ioplan-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        for file in (engine, STAMP.stamp_of(engine)):
            for name in HOOK.CRATES:
                made.write(file, HOOK.in_wheel(name, file.name.replace("engine", name)))
    return wheel


def test_a_clone_takes_the_engine_of_a_wheel_only_if_it_is_of_its_sources(
    tmp_path, monkeypatch
):
    clone = packaging_script("clone")
    packages = sys.modules["stamp"].PACKAGES
    for name, package in list(packages.items()):
        monkeypatch.setitem(packages, name, str(tmp_path / package))
    made = [clone.place_of(name) for name in packages]
    engine = elf(tmp_path, 62, EXEC)
    STAMP.stamp_of(engine).write_text("sources others\nprogram another\n")
    assert not clone.taken(packed(tmp_path, engine))
    assert not any(place.exists() for place in made)
    STAMP.write_stamp(engine)
    assert clone.taken(packed(tmp_path, engine))
    assert all(map(STAMP.fits, made))
    assert all(os.access(place, os.X_OK) for place in made)
