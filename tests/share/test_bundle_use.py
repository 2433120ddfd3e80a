"""Bundles as a user has them: made, signed, checked, shown, compared and repeated."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.results import BundleError, read_bundle
from ioplan.results.share.container import read, written
from ioplan.results.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("rough_sim")]

PLAN = """use "lib/w.ioplan"
param t = 1s
profile quick { t = 40ms }
test "Depths" { run reads for t vary qd in 1, 8 expect errors == 0 }
test "Other" { run random 8KiB 100/0 for t }
"""
LIBRARY = "workload reads = random 4KiB 100/0\n"
DRIVE = (Path(__file__).parents[2] / "examples/sim/client.toml").read_text()


@pytest.fixture
def made(tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of a run whose plan, library, drive and store are gone since."""
    home = tmp_path / "theirs"
    (home / "lib").mkdir(parents=True)
    plan = plan_file(home, PLAN, "review.ioplan")
    plan_file(home / "lib", LIBRARY, "w.ioplan")
    drive = plan_file(home, DRIVE, "drive.toml")
    call = ("--profile", "quick", "--test", "Depths", "--create", "1GiB", "-q")
    assert ioplan("run", plan, "--sim", drive, *call).code == 0
    drive.write_text("edited since\n")
    bundle = tmp_path / "x.ioplan-bundle"
    assert ioplan("bundle", "-o", bundle).code == 0
    for gone in (plan, drive, home / "lib/w.ioplan", store_path):
        gone.unlink()
    monkeypatch.chdir(tmp_path)
    return bundle


def test_it_is_read_like_a_session(made: Path, store_path: Path) -> None:
    id = read_bundle(made).sessions[0].session.id
    shown = ioplan("show", made)
    assert (
        shown.code == 0
        and "review, profile quick on sim" in shown.out
        and "Depths" in shown.out
    )
    assert ioplan("report", made, "-o", "page.html").code == 0
    assert "Depths" in ioplan("export", made, "--format", "csv").out
    assert LIBRARY.strip() in ioplan("show", made, "--plan").out
    assert not store_path.exists(), "nothing is stored by looking"
    assert ioplan("unbundle", made).out.endswith(f"stored: ioplan show {id}\n")
    assert "stored (was there)" in ioplan("unbundle", made).out
    assert ioplan("show", id).out == shown.out
    refused = ioplan("resume", id)
    assert refused.code == 2 and "not started by you" in refused.err


@pytest.mark.long
@pytest.mark.promise("exit_codes.bundle")
def test_it_is_repeated_and_compared_with(made: Path, store_path: Path) -> None:
    done = ioplan("run", made)
    assert done.code == 0, done.err
    assert done.out.endswith("\nreproduced\n")
    assert f"against {made}: of 6 figures 6 equal" in done.out
    with Store.open(store_path) as store:
        session = store.session("last")
        tests = {one.asked.test for one in store.records(session.id)}
    assert tests == {"Depths"} and session.plan == "review, profile quick"
    assert session.request.profile == "quick"
    compared = ioplan("compare", "last", "--to", made)
    assert compared.code == 0 and "0 worse" in compared.out
    assert ioplan("compare", made, "last").out == compared.out
    assert ioplan("resume").out.startswith("session"), "its plan is still there"
    other = ioplan("run", made, "--backend", "sim", "--create", "64MiB")
    assert other.code == 1 and "undecided: noise" in other.out
    changed = ioplan("run", made, "--set", "t=20ms")
    assert "different: 0.0400 s in BASE, 0.0200 s in NEW" in changed.out


def test_it_is_written_out_as_files(made: Path) -> None:
    id = read_bundle(made).sessions[0].session.id
    assert ioplan("unbundle", made, "-o", "out").code == 0
    files = {str(p.relative_to("out")) for p in Path("out").rglob("*") if p.is_file()}
    own = {"review.ioplan", "lib/w.ioplan", "drive.toml", "lab.json"}
    assert files == {"report.html", *(f"{id}/{name}" for name in own)}
    assert ioplan("check", f"out/{id}/review.ioplan").code == 0
    assert ioplan("unbundle", made, "-o", "out").code == 2


def test_a_killed_unbundle_leaves_nothing_in_the_way(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there with all that belongs into it, or not at all."""
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(
            "ioplan.cli.commands.share.unbundle.report_page", lambda *_: os._exit(9)
        )
        ioplan("unbundle", made, "-o", "out")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not Path("out").exists()
    assert ioplan("unbundle", made, "-o", "out").code == 0
    assert Path("out/report.html").exists()


@pytest.mark.long
def test_of_several_sessions_one_must_be_named(made: Path) -> None:
    one = read_bundle(made).sessions[0].session.id
    assert ioplan("unbundle", made).code == 0
    assert ioplan("run", made, "-q").code == 0
    assert ioplan("bundle", one, "last", "-o", "two.ioplan-bundle").code == 0
    shown = ioplan("show", "two.ioplan-bundle")
    assert shown.code == 2 and "has 2 sessions" in shown.err
    assert ioplan("report", "two.ioplan-bundle", "-o", "two.html").code == 0
    assert ioplan("compare", made, "two.ioplan-bundle").code == 2, (
        "one is on both sides"
    )
    again = ioplan("run", "two.ioplan-bundle", "-q")
    assert again.code == 0 and again.out.endswith("\nreproduced\n")
    Path("lab.toml").write_text(
        '[targets.a]\npath = "/a"\n[targets.b]\npath = "/b"\n[groups]\nall = ["a", "b"]\n'
    )
    group = ioplan("run", made, "--target", "all", "--lab", "lab.toml")
    assert group.code == 2 and "repeated on one target" in group.err
    missing = ioplan("show", "none.ioplan-bundle")
    assert missing.code == 2 and "cannot read" in missing.err


@pytest.mark.parametrize("name", ["../x.ioplan", "/tmp/x.ioplan", "a/../../x", ""])
def test_files_do_not_leave_their_folder(name: str, made: Path) -> None:
    found = read(made.read_bytes())
    said = found.members["1/session.json"].replace(b"lib/w.ioplan", name.encode())
    made.write_bytes(written({**found.members, "1/session.json": said}, found.about))
    before = sorted(made.parent.rglob("*"))
    for call in (("unbundle", made, "-o", "out"), ("run", made)):
        assert ioplan(*call).code == 2
    assert [p for p in made.parent.rglob("*") if p not in before and p.is_file()] == []


# signed


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """Two keys, and a list of signers that has only the first."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("LEFT OUT: ssh-keygen is not installed")
    for name in ("mine", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name]
        subprocess.run(command, check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"me@example.com {(tmp_path / 'mine.pub').read_text()}")
    return tmp_path, signers


@pytest.mark.long
@pytest.mark.promise("share.signature")
def test_a_signature_is_of_a_signer_and_of_this_bundle(
    made: Path, keys: tuple[Path, Path]
) -> None:
    folder, signers = keys
    assert ioplan("unbundle", made).code == 0
    unsigned = ioplan("unbundle", made, "--signers", signers, "--check")
    assert unsigned.code == 2 and "is not signed" in unsigned.err
    for name in ("mine", "other"):
        done = ioplan("bundle", "-o", f"{name}.ioplan-bundle", "--sign", folder / name)
        assert done.code == 0, done.err
    right = ioplan("unbundle", "mine.ioplan-bundle", "--signers", signers, "--check")
    assert right.code == 0 and "signed by me@example.com, ED25519 SHA256:" in right.out
    wrong = ioplan("unbundle", "other.ioplan-bundle", "--signers", signers, "--check")
    assert wrong.code == 2 and "not by one of" in wrong.err
    assert "not verified" in ioplan("unbundle", "other.ioplan-bundle").out

    found = read(Path("mine.ioplan-bundle").read_bytes())
    later = found.about | {"made_at": "2030-01-01T00:00:00Z"}
    for signature in (found.signature, b"", b"-----BEGIN SSH SIGNATURE-----\n"):
        forged = Path("forged.ioplan-bundle")
        forged.write_bytes(written(found.members, later, lambda _, s=signature: s))
        with pytest.raises(BundleError, match=r"signature is wrong|is not signed"):
            read_bundle(forged, signers)
    refused = ioplan("bundle", "--sign", "nowhere", "-o", "z.ioplan-bundle")
    assert refused.code == 2 and "there is no key" in refused.err
    assert not Path("z.ioplan-bundle").exists()


def test_a_signature_for_something_else_is_none(
    made: Path, keys: tuple[Path, Path]
) -> None:
    """A key that signs e-mail must not sign bundles by that."""
    folder, signers = keys
    found = read(made.read_bytes())

    def mail(manifest: bytes) -> bytes:
        command = ["ssh-keygen", "-Y", "sign", "-n", "mail", "-f", folder / "mine"]
        return subprocess.run(
            command, input=manifest, capture_output=True, check=True
        ).stdout

    made.write_bytes(written(found.members, found.about, mail))
    for allowed in (signers, None):
        with pytest.raises(BundleError, match="signature is wrong"):
            read_bundle(made, allowed)
