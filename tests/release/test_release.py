"""A release: signed checksums, equal builds, and what its workflow makes of them."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from command import program
from paths import ROOT
from scripts import packaging_script

dist = packaging_script("dist")
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
CI = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
MADE = (
    *("SHA256SUMS", "ioplan-1.2.0-offline-x86_64-musl.tar.gz", "ioplan-1.2.0.tar.gz"),
    *("ioplan-1.2.0-offline-aarch64.tar.gz", "ioplan-1.2.0-py3-none-any.whl"),
    *("ioplan_1.2.0_amd64.deb", "ioplan.cdx.json"),
)


NEEDS_SSH_KEYGEN = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="LEFT OUT: ssh-keygen is not installed"
)


def key_in(folder, name):
    """A new key of ssh without a password."""
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
    subprocess.run(make, check=True)
    return folder / name


def verified(folder, key, *, name="ioplan"):
    """The code of the call of docs/install.md, for who trusts a key."""
    (folder / "allowed_signers").write_text(
        f"release@ioplan {key.with_suffix('.pub').read_text()}"
    )
    verify = ["ssh-keygen", "-Y", "verify", "-f", "allowed_signers"]
    verify += ["-I", "release@ioplan", "-n", name, "-s", "SHA256SUMS.sig"]
    with (folder / "SHA256SUMS").open() as sums:
        done = subprocess.run(
            verify, cwd=folder, stdin=sums, capture_output=True, check=False
        )
    return done.returncode


@pytest.fixture
def sums(tmp_path, monkeypatch):
    """The checksums of a small file."""
    monkeypatch.setattr(dist, "DIST", tmp_path)
    (tmp_path / "a.whl").write_bytes(b"packed")
    made: Path = dist.checksums([tmp_path / "a.whl"])
    return made


@NEEDS_SSH_KEYGEN
@pytest.mark.slow
def test_signed_checksums_are_verified(sums, tmp_path):
    assert sums.read_text() == f"{sha256(b'packed').hexdigest()}  a.whl\n"
    key, other = key_in(tmp_path, "key"), key_in(tmp_path, "other")
    assert dist.signature(sums, key).name == "SHA256SUMS.sig"
    assert verified(tmp_path, key) == 0
    assert verified(tmp_path, other) != 0
    assert verified(tmp_path, key, name="git") != 0
    sums.write_text(sums.read_text().replace("a.whl", "b.whl"))
    assert verified(tmp_path, key) != 0


@NEEDS_SSH_KEYGEN
@pytest.mark.slow
def test_without_its_key_nothing_is_signed(sums, tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        dist.signature(sums, tmp_path / "nowhere")
    assert not sums.with_suffix(".sig").exists()


def test_the_document_verifies_as_is_tested():
    said = " ".join((ROOT / "docs/install.md").read_text().replace("\\\n", " ").split())
    verify = "ssh-keygen -Y verify -f allowed_signers -I release@ioplan -n ioplan"
    assert f"{verify} -s SHA256SUMS.sig <SHA256SUMS" in said


def step(job, word):
    """The step of the workflow whose script has a word."""
    steps = WORKFLOW["jobs"][job]["steps"]
    (found,) = (one for one in steps if word in one.get("run", ""))
    return dict(found)


def test_the_workflow_builds_for_each_processor():
    script = step("build", "make dist\n")["run"]
    assert all(f"{one}-unknown-linux-musl" in script for one in dist.MACHINES)
    assert set(dist.MACHINES) == {"x86_64", "aarch64"}
    tried = step("build", "make dist-test")["run"]
    assert "qemu-user-static" in tried  # for the one that it does not run on


def test_a_release_needs_what_each_push_needs():
    jobs = WORKFLOW["jobs"]
    assert {"build", "ci"} <= set(jobs["publish"]["needs"])
    assert jobs["ci"]["uses"] == "./.github/workflows/ci.yml"
    triggers = CI[True]  # `on`, as YAML 1.1 reads it
    assert {"push", "pull_request", "workflow_call"} == set(triggers)
    assert ".ci/run" in [step.get("run") for step in CI["jobs"]["whole"]["steps"]]
    pythons = CI["jobs"]["quick"]["strategy"]["matrix"]["python"]
    assert tuple(pythons) == packaging_script("offline").PYTHONS


@pytest.mark.slow
def test_only_packages_of_python_go_to_the_registry(tmp_path):
    (tmp_path / "dist").mkdir()
    for name in MADE:
        (tmp_path / "dist" / name).touch()
    script = step("publish", "mkdir packages")["run"]
    subprocess.run(["bash", "-ec", script], cwd=tmp_path, check=True)
    sent = {path.name for path in (tmp_path / "packages").iterdir()}
    assert sent == {"ioplan-1.2.0.tar.gz", "ioplan-1.2.0-py3-none-any.whl"}


def built(sources, place, kind):
    """The source distribution or the wheel without an engine."""
    place.mkdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(place)],
        cwd=sources,
        env=os.environ | {"IOPLAN_WHEEL": "pure", "SOURCE_DATE_EPOCH": "1767225600"},
        capture_output=True,
        check=True,
    )
    (made,) = place.iterdir()
    return made


@pytest.mark.long
def test_two_builds_are_equal(tmp_path):
    """Also of sources in folders of other names, with other seeds of hashes."""
    sdists, wheels = set(), set()
    for name in ("a", "another folder"):
        sdist = built(ROOT, tmp_path / f"{name} sdist", "sdist")
        sdists.add(sha256(sdist.read_bytes()).hexdigest())
        shutil.unpack_archive(sdist, tmp_path / name)
        (sources,) = (tmp_path / name).iterdir()
        wheel = built(sources, tmp_path / f"{name} wheel", "wheel")
        assert (sources / "dsl/ioplan/language/syntax/grammar.tables").exists()
        wheels.add(sha256(wheel.read_bytes()).hexdigest())
    assert len(sdists) == len(wheels) == 1


# beside the wheels: the bill of materials, the installer, the release

bill = packaging_script("bill")
offline = packaging_script("offline")


def wheel(folder, name, metadata):
    """A wheel with nothing but what it says of itself, and its licence."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{info}/METADATA", f"Name: {name}\nVersion: 1.0\n{metadata}\n")
        packed.writestr(f"{info}/licenses/LICENSE", f"text of {name}")
        packed.writestr(f"{name}/__init__.py", "")


def test_the_bill_names_each_package_once_with_its_licence(tmp_path):
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
def test_the_engine_has_the_crates_of_its_lock_file_with_their_licences():
    found = {one.name: one for one in bill.crates()}
    assert {"libc", "serde_json", "crc32fast"} <= set(found)
    assert "tempfile" not in found and "syn" not in found
    assert all(one.licence and one.texts for one in found.values())


@pytest.mark.long
def test_the_pages_name_what_they_are_made_with():
    (theme,) = bill.pages()
    assert theme.name == "mkdocs-material" and theme.version
    assert any("Martin Donath" in text for text in theme.texts)


@pytest.mark.slow
def test_the_installer_and_the_package_scripts_are_shell(tmp_path):
    scripts = (offline.INSTALLER.read_text(), offline.AFTER, offline.BEFORE)
    for script in scripts:
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)


@pytest.mark.long
def test_the_installer_says_what_its_packages_are_for(tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "install.sh").write_text(offline.installer("aarch64", "musl"))
    call = ["sh", tmp_path / "install.sh", tmp_path / "venv"]
    done = program(*call)
    told = "error: this archive is for Python 3.11 to 3.14, aarch64 and musl\n"
    assert done.returncode == 1 and done.stderr.endswith(told) and not done.stdout


def test_a_system_is_named_as_it_names_itself(tmp_path):
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
def test_archive_package_and_bill_are_equal_in_any_folder(tmp_path, monkeypatch):
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
