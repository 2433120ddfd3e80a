"""Bundles as a user has them: what they hide, made, signed, checked, shown, repeated."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bundles import forged, members_in
from command import ioplan, plan_file, succeed
from figures import changed, run
from packed import unpacked_in
from sessions import put as put_session
from sessions import session

from ioplan.job import JobTarget
from ioplan.records import (
    Drive,
    EventMade,
    Resolved,
    RunRecord,
    RunRequest,
    SessionEvent,
)
from ioplan.results import BundleError, read_bundle
from ioplan.results.store import Store

HOST, SERIAL, USER = "dbserver7.corp.example", "S4EVNX0R123456", "malicek"
DISK = f"/dev/disk/by-id/nvme-Samsung_{SERIAL}"
HOME_FILE = f"/home/{USER}/Lab Zettel/x.ioplan"
SECRETS = [HOST, "dbserver7", SERIAL, USER, DISK, HOME_FILE, "Zettel", "10.20.30.40"]
SECRET_PLAN = f"""# On {HOST}, by {USER}: {DISK}
plan "Review of a drive"
use "w.ioplan" as w  # of {USER}
test "Reads" {{
  run random 4KiB 67/33, qd 4 for 3s  # on {HOST}
  expect errors == 0
}}
"""


def secret(number, id):
    """A run whose record has the names wherever others than the plan have a say."""
    made, detail = run(number, session=id, test="Reads")
    told = f"{DISK}: cannot be opened on {HOST} (10.20.30.40)"
    happened = EventMade(
        name="failover", start_s=1.0, end_s=1.1, host=HOST, exit_code=0,
        output=told, error=told,
    )  # fmt: skip
    identity = {"serial": SERIAL, "model": "980", "wwid": f"eui.{SERIAL}"}
    facts = {"hosts": {HOST: DISK}, "path": HOME_FILE}
    figures = made.model_dump(include={"streams", "directions", "total"})
    made = RunRecord.model_validate(made.model_dump() | {"targets": {USER: figures}})
    update = {
        "target": made.target | {"path": DISK, "identity": identity, "link": DISK},
        "host": {
            "hostname": HOST, "user": USER, "disks": {f"{SERIAL}-part1": "ext4"},
            "warnings": [told], "target": {DISK: HOST}, "cpu": "EPYC 9554",
        },
        "backend": made.backend.model_copy(update={"reason": told, "facts": facts}),
        "message": told,
        "events": (happened,),
        "warnings": (f"{HOME_FILE} was edited by {USER}",),
    }  # fmt: skip
    targets = (JobTarget(name=USER, path=DISK),)
    job = made.asked.job.model_copy(update={"target": DISK, "targets": targets})
    return changed(made, plan_file=HOME_FILE, job=job, **update), detail


def put(path, id="20261121-054512-k3f9"):
    """A store with a session full of names."""
    asked = RunRequest(
        targets=(DISK,), lab=Path(f"/home/{USER}/lab.toml"), overwrite=(SERIAL,)
    )
    known = Resolved(
        plan=HOME_FILE, target_key=f"block serial={SERIAL} 1000",
        files={"w.ioplan": f"# of {HOST}\nworkload w = random 4KiB 100/0\n"},
        options={"rpc": HOME_FILE}, drive_file=f"# measured on {HOST}\nname = 'TLC'\n",
    )  # fmt: skip
    made = session(
        id, plan="Review of a drive", plan_file=HOME_FILE, plan_text=SECRET_PLAN, target=DISK,
        request=asked, resolved=known, host={"hostname": HOST}, status="ok", ended_at="2026-11-21T06:00:00Z",
        host_name=HOST.upper(), person=USER, note=f"for {USER} on {HOST}", tags=(SERIAL,),
        drive=Drive(serial=SERIAL, model="980", lab_name=USER, wwid=f"eui.{SERIAL}"),
    )  # fmt: skip
    gone = f"{DISK} is gone from {HOST}"
    with Store.open(path) as store:
        store.begin(made)
        for number in (1, 2):
            store.add(*secret(number, id))
        for kind, text in (("edited", SECRET_PLAN), ("failed", gone)):
            store.add_event(id, SessionEvent(at=made.ended_at, kind=kind, text=text))
    return id


def every_byte(path):
    """The file, its members unpacked, and what is packed inside of those."""
    found = [path.read_bytes()]
    for name, data in members_in(found[0]).items():
        found += [name.encode(), data]
        found += unpacked_in(name, data)
    return b"\n".join(found)


@pytest.mark.long
@pytest.mark.promise("share.redacted", "share.redacted")
def test_no_byte_has_a_name_but_a_pseudonym(store_path, tmp_path, monkeypatch):
    other = tmp_path / "other.db"
    first, second = put(store_path), put(other, "20261121-064512-aaaa")
    plain, hidden, again = (tmp_path / f"{name}.ioplan-bundle" for name in "pha")
    for words in (
        (first, "-o", plain),
        (first, "-o", hidden, "--redact"),
        (second, "-o", again, "--redact", "--store", other),
    ):
        done = ioplan("bundle", *words)
        assert done.code == 0, done.err
    everything = every_byte(plain)
    for name in SECRETS:
        assert name.encode() in everything, f"the test does not look for {name}"
    redacted = [every_byte(path) for path in (hidden, again)]
    for everything in redacted:
        assert [n for n in SECRETS if n.encode().lower() in everything.lower()] == []
    for kind in (b"host", b"drive"):
        known, same = (
            set(re.findall(rb"\b%s_[0-9a-f]{8}" % kind, text)) for text in redacted
        )
        assert len(known) == 1 and known == same, "one name has one pseudonym"
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / kind.decode()))
        succeed("bundle", first, "-o", hidden, "--redact", "--force")
        assert not known & {*re.findall(rb"\w+", every_byte(hidden))}, "another key"


@pytest.mark.long
def test_figures_and_plan_are_as_they_were(store_path, tmp_path):
    id, out = put(store_path), tmp_path / "x.ioplan-bundle"
    assert ioplan("bundle", id, "-o", out, "--redact").code == 0
    (one,) = read_bundle(out).sessions
    record, detail = one.runs[0]
    before, before_detail = secret(1, id)
    assert (record.total, record.verdicts) == (before.total, before.verdicts)
    assert detail == before_detail.model_copy(update={"telemetry": detail.telemetry})
    assert record.target["identity"]["model"] == "980"
    assert record.host["cpu"] == "EPYC 9554"
    plain = tmp_path / "plain.ioplan-bundle"
    succeed("bundle", id, "-o", plain)
    assert run_ids(out, tmp_path / "a") == run_ids(plain, tmp_path / "b") != []
    assert 'test "Reads"' in one.session.plan_text
    shown = ioplan("show", out)
    assert shown.code == 0 and "Review of a drive\ndrive redacted" in shown.out


def run_ids(bundle, folder):
    """What its plan does, written out and planned."""
    succeed("unbundle", bundle, "-o", folder)
    (plan,) = {*folder.glob("*/*.ioplan")} - {*folder.glob("*/w.ioplan")}
    steps = json.loads(succeed("plan", plan, "--json").out)["steps"]
    return [step["run_id"] for step in steps]


LAB = f"""
results = "postgresql://lab:hunter2@10.20.30.40/ioplan"
silence_s = 5
cpus = "1"
[targets.fast]
serial = "{SERIAL}"
purge = {{ command = ["/opt/erase", "--token", "hunter3", "{{device}}"] }}
power = {{ command = ["meter", "hunter4"] }}
[hosts.h1]
user = "hunter5"
"""


def test_of_the_lab_only_what_matters(store_path, tmp_path):
    lab, out = tmp_path / "lab.toml", tmp_path / "x.ioplan-bundle"
    lab.write_text(LAB)
    options = {"engine": "libaio", "rpc_password": "hunter6"}
    asked = {
        "request": RunRequest(lab=lab, targets=("fast",)),
        "plan_text": SECRET_PLAN,
    }
    known = Resolved(options=options)
    put_session(store_path, run(1), status="ok", resolved=known, **asked)
    assert ioplan("bundle", "last", "-o", out).code == 0
    assert b"hunter" not in every_byte(out)
    kept = read_bundle(out).sessions[0].lab
    assert '"silence_s": 5' in kept and SERIAL in kept and '"engine": "libaio"' in kept


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
def made(tmp_path, store_path, monkeypatch):
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


def test_it_is_read_like_a_session(made, store_path):
    id = read_bundle(made).sessions[0].session.id
    shown = ioplan("show", made)
    assert shown.code == 0 and "Depths" in shown.out
    assert "review, profile quick\ndrive sim, backend sim" in shown.out
    assert ioplan("report", made, "-o", "page.html").code == 0
    assert "Depths" in ioplan("export", made, "--format", "csv").out
    assert LIBRARY.strip() in ioplan("show", made, "--plan").out
    assert not store_path.exists(), "nothing is stored by looking"
    assert ioplan("unbundle", made).out.endswith(f"stored: ioplan show {id}\n")
    assert "stored (was there)" in ioplan("unbundle", made).out
    assert ioplan("show", id).out == shown.out
    refused = ioplan("resume", id)
    assert refused.code == 2 and "not started by you" in refused.err
    missing = ioplan("show", "none.ioplan-bundle")
    assert missing.code == 2 and "cannot read" in missing.err


@pytest.mark.long
@pytest.mark.promise("exit_codes.bundle")
def test_it_is_repeated_and_compared_with(made, store_path):
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
    assert compared.code == 0 and "is inconclusive: 100 % of the" in compared.out
    assert ioplan("compare", made, "last").out == compared.out
    assert ioplan("resume").out.startswith("session"), "its plan is still there"
    other = ioplan("run", made, "--backend", "sim", "--create", "64MiB")
    assert other.code == 1 and "inconclusive: 1 run a side" in other.out
    changed = ioplan("run", made, "--set", "t=20ms")
    assert "different: runs of 0.04 s in BASE, of 0.02 s in NEW" in changed.out


def test_a_killed_unbundle_leaves_nothing(made, monkeypatch):
    """The folder is there with all that belongs into it, or not at all."""
    child = os.fork()
    if child == 0:
        page = "ioplan.cli.commands.share.unbundle.report_page"
        monkeypatch.setattr(page, lambda *_: os._exit(9))
        ioplan("unbundle", made, "-o", "out")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not Path("out").exists()
    assert ioplan("unbundle", made, "-o", "out").code == 0
    id = read_bundle(made).sessions[0].session.id
    files = {str(p.relative_to("out")) for p in Path("out").rglob("*") if p.is_file()}
    own = {"review.ioplan", "lib/w.ioplan", "drive.toml", "lab.json"}
    assert files == {"report.html", *(f"{id}/{name}" for name in own)}
    assert ioplan("check", f"out/{id}/review.ioplan").code == 0
    assert ioplan("unbundle", made, "-o", "out").code == 2


@pytest.mark.long
def test_of_several_sessions_one_must_be_named(made):
    one, two = read_bundle(made).sessions[0].session.id, "two.ioplan-bundle"
    assert ioplan("unbundle", made).code == 0
    assert ioplan("run", made, "-q").code == 0
    assert ioplan("bundle", one, "last", "-o", two).code == 0
    shown = ioplan("show", two)
    assert shown.code == 2 and "has 2 sessions" in shown.err
    assert ioplan("report", two, "-o", "two.html").code == 0
    assert ioplan("compare", made, two).code == 2, "one is on both sides"
    again = ioplan("run", two, "-q")
    assert again.code == 0 and again.out.endswith("\nreproduced\n")
    targets = "".join(f'[targets.{name}]\npath = "/{name}"\n' for name in "ab")
    Path("lab.toml").write_text(f'{targets}[groups]\nall = ["a", "b"]\n')
    group = ioplan("run", made, "--target", "all", "--lab", "lab.toml")
    assert group.code == 2 and "repeated on one target" in group.err


@pytest.mark.parametrize(
    "name",
    [
        *("../x.ioplan", "/tmp/x.ioplan", "a/../../x", ""),
        *(".envrc", "a/.git/config", "lab.toml", "ioplan.toml"),
    ],
)
def test_files_do_not_leave_their_folder_nor_set_anything(name, made):
    members = members_in(made.read_bytes())
    changed = {
        member: members[member].replace(b"lib/w.ioplan", name.encode())
        for member in ("1/session.json", "1/plan.ioplan")
    }
    made.write_bytes(forged(made.read_bytes(), changed))
    before = sorted(made.parent.rglob("*"))
    for call in (("unbundle", made, "-o", "out"), ("run", made)):
        assert ioplan(*call).code == 2
    assert [p for p in made.parent.rglob("*") if p not in before and p.is_file()] == []


# signed
@pytest.fixture
def keys(tmp_path):
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
def test_a_signature_is_of_this_bundle(made, keys):
    """And of a signer; a key that signs e-mail must not sign bundles by that."""
    folder, signers = keys

    def checked(name):
        return ioplan("unbundle", name, "--signers", signers, "--check")

    def mail(manifest):
        words = ["ssh-keygen", "-Y", "sign", "-n", "mail", "-f", folder / "mine"]
        done = subprocess.run(words, input=manifest, capture_output=True, check=True)
        return done.stdout

    assert ioplan("unbundle", made).code == 0
    for name in ("mine", "other"):
        done = ioplan("bundle", "-o", f"{name}.ioplan-bundle", "--sign", folder / name)
        assert done.code == 0, done.err
    mine, other = Path("mine.ioplan-bundle"), Path("other.ioplan-bundle")
    right = checked(mine)
    assert right.code == 0 and "signed by me@example.com, ED25519 SHA256:" in right.out
    for wrong, said in ((made, "is not signed"), (other, "not by one of")):
        refused = checked(wrong)
        assert refused.code == 2 and said in refused.err
    assert "not verified" in ioplan("unbundle", other).out

    data, changed = mine.read_bytes(), Path("forged.ioplan-bundle")
    signature = members_in(data)["manifest.sig"]
    later = {"made_at": "2030-01-01T00:00:00Z"}
    report = {"report.html": b"<p>better</p>"}
    for change in ({"manifest": later}, {"members": report}):
        for other in (signature, b"", b"-----BEGIN SSH SIGNATURE-----\n"):
            changed.write_bytes(forged(data, **change, sign=lambda _, s=other: s))
            with pytest.raises(BundleError, match=r"signature is wrong|is not signed"):
                read_bundle(changed, signers)
        changed.write_bytes(forged(data, **change))
        with pytest.raises(BundleError, match="is not signed"):
            read_bundle(changed, signers)
    changed.write_bytes(forged(data, sign=mail))
    for allowed in (signers, None):
        with pytest.raises(BundleError, match="signature is wrong"):
            read_bundle(changed, allowed)
    nowhere = Path("z.ioplan-bundle")
    refused = ioplan("bundle", "--sign", "nowhere", "-o", nowhere)
    assert refused.code == 2 and "there is no key" in refused.err
    assert not nowhere.exists()
