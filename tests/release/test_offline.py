"""What is shipped beside the wheels: the bill of materials, the installer, the release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from command import program
from scripts import packaging_script

bill = packaging_script("bill")
offline = packaging_script("offline")


def wheel(folder: Path, name: str, metadata: str) -> None:
    """A wheel with nothing but what it says of itself, and its licence."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{info}/METADATA", f"Name: {name}\nVersion: 1.0\n{metadata}\n")
        packed.writestr(f"{info}/licenses/LICENSE", f"text of {name}")
        packed.writestr(f"{name}/__init__.py", "")


def test_the_bill_names_each_package_once_with_its_licence(tmp_path: Path) -> None:
    wheel(tmp_path, "new_style", "License-Expression: MIT OR Apache-2.0")
    wheel(tmp_path, "old_style", "Classifier: License :: OSI Approved :: BSD License")
    wheel(tmp_path, "unsaid", "")
    wheel(tmp_path, "ioplan", "License-Expression: Apache-2.0")
    found = list(bill.python_packages(tmp_path))
    made = json.loads(bill.bill("1.2", found))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    assert made["metadata"]["component"]["purl"] == "pkg:pypi/ioplan@1.2"
    entries = {one["purl"]: one["licenses"] for one in made["components"]}
    assert entries == {
        "pkg:pypi/new-style@1.0": [{"expression": "MIT OR Apache-2.0"}],
        "pkg:pypi/old-style@1.0": [{"expression": "BSD-3-Clause"}],
        "pkg:pypi/unsaid@1.0": [{"expression": "LicenseRef-unknown"}],
    }
    assert "text of old_style" in bill.licences(found)


@pytest.mark.slow
def test_the_engine_has_the_crates_of_its_lock_file_with_their_licences() -> None:
    found = {one.name: one for one in bill.crates()}
    assert {"libc", "serde_json", "crc32fast"} <= set(found)
    assert "tempfile" not in found and "syn" not in found
    assert all(one.licence and one.texts for one in found.values())


@pytest.mark.long
def test_the_pages_name_what_they_are_made_with() -> None:
    (theme,) = bill.pages()
    assert theme.name == "mkdocs-material" and theme.version
    assert any("Martin Donath" in text for text in theme.texts)


@pytest.mark.slow
def test_the_installer_and_the_package_scripts_are_shell(tmp_path: Path) -> None:
    scripts = (offline.INSTALLER.read_text(), offline.AFTER, offline.BEFORE)
    for script in scripts:
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)


@pytest.mark.long
def test_the_installer_says_what_its_packages_are_for(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "install.sh").write_text(offline.installer("aarch64", "musl"))
    call = ["sh", tmp_path / "install.sh", tmp_path / "venv"]
    done = program(*call)
    told = "error: this archive is for Python 3.11 to 3.14, aarch64 and musl\n"
    assert done.returncode == 1 and done.stderr.endswith(told) and not done.stdout


def test_a_system_is_named_as_it_names_itself(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    release = tmp_path / "etc/os-release"
    release.write_text('NAME="Alpine Linux"\nVERSION_ID=3.20.3\n')
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/ld-musl-x86_64.so.1").touch()
    found = packaging_script("try_out").given(tmp_path)
    assert (found.name, found.libc) == ("Alpine 3.20", "musl")
    release.write_text('NAME="Debian GNU/Linux"\nVERSION_ID="12"\n')
    (tmp_path / "lib/ld-musl-x86_64.so.1").unlink()
    found = packaging_script("try_out").given(tmp_path)
    assert (found.name, found.libc) == ("Debian 12", "glibc")
    release.write_text('NAME="Debian GNU/Linux"\nVERSION_CODENAME=forky\n')
    assert packaging_script("try_out").given(tmp_path).name == "Debian forky"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="LEFT OUT: no dpkg-deb")
@pytest.mark.long
def test_archive_package_and_bill_are_equal_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order, the times and the folders in which their files were made."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(offline.MADE))
    made: dict[str, set[bytes]] = {}
    for at, names in enumerate((("one", "two"), ("two", "one"))):
        folder, dist = tmp_path / f"a{at * 50}" / "ioplan-1.2", tmp_path / f"d{at}"
        (folder / "wheels").mkdir(parents=True)
        dist.mkdir()
        for name in names:
            wheel(folder / "wheels", name, "License-Expression: MIT")
        (folder / "install.sh").write_text(offline.installer("x86_64", "glibc"))
        for path in folder.rglob("*.whl"):
            path.write_bytes(b"the same")
            os.utime(path, (at, offline.MADE + 1000 * at))
        offline.archive(folder, "x86_64", dist)
        offline.debian_package(folder, "x86_64", dist)
        found = bill.bill("1.2", list(bill.pages()))
        (dist / "ioplan.cdx.json").write_text(found)
        for path in dist.iterdir():
            made.setdefault(path.name, set()).add(path.read_bytes())
    assert [len(one) for one in made.values()] == [1, 1, 1]
