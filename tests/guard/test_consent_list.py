"""`--overwrite-from`: a list gives the consents of its drives, and nothing more."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from command import ioplan, plan_file, succeed
from msgspec.structs import replace
from refused import refused

from ioplan import TargetFault
from ioplan.cli.inputs import checked_plan
from ioplan.cli.targets.consents import listed_words
from ioplan.runner import Lab
from ioplan.runner.guard import drives_of, make_key, read_list, sign
from ioplan.runner.guard.consent_list.signed import (
    consented_plan,
    is_signed_by,
    public_text,
    read_key,
    verified,
)
from ioplan.target_entry import LabTarget
from targets import MIB, loop_device, needs_root, tell

WRITES = 'test "T" { run random 4KiB 0/100 for 1s }'
Change = Callable[[dict[str, Any]], object]


def row(serial="S1", **more):
    """A drive as `ioplan targets --json` prints it."""
    identity = {"kernel": "nvme0n1", "serial": serial, "model": "M"}
    plain = {"name": "", "id": serial, "identity": identity, "verdict": "writable"}
    return {**plain, "path": "/dev/nvme0n1", "size_bytes": 1, **more}


class Desk:
    """An admin with a key, the lab that names it, and a plan."""

    def __init__(self, folder):
        self.folder, self.key = folder, folder / "admin.key"
        self.lab = Lab(name="attic", admins={"ada": make_key(self.key)})
        self.plan = checked_plan(plan_file(folder, WRITES), [])
        self.until = datetime.now(UTC) + timedelta(hours=1)

    def signed(self, *rows, any_plan=False):
        plans = None if any_plan else [consented_plan(self.plan)]
        drives = drives_of(list(rows or (row(),)))
        made = sign(drives, self.lab, self.until, plans, self.key)
        return json.loads(made.model_dump_json())

    def file(self, document):
        path = self.folder / "list.json"
        path.write_text(json.dumps(document))
        return path

    def refuses(self, document, text, lab=None):
        with refused(TargetFault.CONSENT_LIST, text):
            read_list(self.file(document), lab or self.lab, self.plan)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_a_signed_list_names_its_drives(desk):
    found = read_list(desk.file(desk.signed(row("S1"), row("S2"))), desk.lab, desk.plan)
    assert [one.id for one in found.drives] == ["S1", "S2"]
    assert found.signed and found.signed.admin == "ada"


def change(*path, to):
    def changed(document):
        *way, last = path
        for key in way:
            document = document[key]
        document[last] = to

    return changed


SIGNED_ATTACKS: dict[str, tuple[Change, str]] = {
    "a drive more": (
        lambda d: d["consent"]["drives"].append(
            {"id": "S9", "identity": {"kernel": "", "serial": "S9"}, "name": ""}
        ),
        "the signature of ada does not match",
    ),
    "another drive": (
        lambda d: d["consent"]["drives"][0].update(
            id="S9", identity={"kernel": "", "serial": "S9"}
        ),
        "the signature of ada does not match",
    ),
    "longer": (change("consent", "until", to="2099-01-01T00:00:00Z"), "the signature of ada does not match"),
    "any plan": (change("consent", "plans", to=None), "the signature of ada does not match"),
    "another plan": (change("consent", "plans", 0, "digest", to="0"), "the signature of ada does not match"),
    "another lab": (change("consent", "lab", to="cellar"), "for the lab 'cellar'"),
    "another admin": (change("consent", "admin", to="eve"), "'eve' is not an admin"),
    "no signature": (lambda d: d.pop("signature"), "not a signed list: signature"),
    "no base64": (change("signature", to="?"), "the signature of ada does not match"),
    "another format": (change("format", to="x"), "not a signed list: format"),
    "a key more": (change("consent", "data", to=True), "not a signed list: consent.data"),
    "only the consent": (lambda d: d.update(d.pop("consent")), "not a signed list"),
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNED_ATTACKS)
@pytest.mark.promise("labs.consent_list")
def test_a_signed_list_that_was_altered_is_refused(desk, name):
    attack, text = SIGNED_ATTACKS[name]
    document = desk.signed()
    attack(document)
    desk.refuses(document, text)


@pytest.mark.promise("labs.consent_list")
def test_a_list_of_another_time_lab_key_or_plan_is_refused(desk, tmp_path):
    other = make_key(tmp_path / "other.key")
    document = desk.signed()
    keyed = desk.lab.model_copy(update={"admins": {"ada": other}})
    desk.refuses(document, "the signature of ada does not match", keyed)
    for lab in (
        Lab(name="cellar", admins=desk.lab.admins),
        Lab(admins=desk.lab.admins),
    ):
        desk.refuses(document, "for the lab 'attic'", lab)
    late = desk.until + timedelta(seconds=1)
    with refused(TargetFault.CONSENT_LIST, "it expired at"):
        verified(document, desk.lab, desk.plan, late)
    desk.plan = replace(desk.plan, text=desk.plan.text + " ")
    desk.refuses(document, ", not for 'plan' as it is now")
    assert read_list(desk.file(desk.signed(any_plan=True)), desk.lab, desk.plan)


def test_only_an_admin_signs_and_only_for_a_time(desk, tmp_path):
    drives, plans = drives_of([row()]), [consented_plan(desk.plan)]
    make_key(tmp_path / "eve.key")
    for lab, until, key, text in (
        (desk.lab, desk.until, "eve.key", "does not name you as an admin"),
        (desk.lab, datetime.now(UTC), "admin.key", "a list needs an expiry date"),
        (Lab(admins=desk.lab.admins), desk.until, "admin.key", "the lab has no name"),
        (desk.lab, desk.until, "none.key", "cannot read the key"),
    ):
        with refused(TargetFault.CONSENT_LIST, text):
            sign(drives, lab, until, plans, tmp_path / key)
    desk.key.chmod(0o640)
    with refused(TargetFault.CONSENT_LIST, "others may read the key"):
        sign(drives, desk.lab, desk.until, plans, desk.key)


LISTS: dict[str, tuple[object, str]] = {
    "a path": (["/dev/sda"], "a path or a name alone is not consent"),
    "no identity": (
        [row(id="sda", identity={"kernel": "sda"})],
        "names 'sda' by a path, which may later be another drive",
    ),
    "the kernel's name": (
        [row(id="nvme0n1")],
        "the ID 'nvme0n1' does not belong to the drive with the serial 'S1'",
    ),
    "another's ID": ([row(id="S2")], "the list was altered"),
    "a path for an ID": ([row(id="/dev/sda")], "the list was altered"),
    "a path for a serial": ([row("/dev/sda")], "by a path"),
    "a device behind a loop": (
        [row(id="/dev/sda", identity={"kernel": "l", "backing_file": "/dev/sda"})],
        "by a path",
    ),
    "no drive": ([row(verdict="refused")], "no drive whose verdict is 'writable'"),
    "nothing": ([], "no drive whose verdict"),
    "a word": ("S1", "neither the output of .* nor a list signed|not a signed list"),
    "identity is text": ([row(identity="S1")], "is not a drive"),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.promise("labs.consent_list")
def test_a_list_that_names_no_identity_is_refused(desk, name):
    document, text = LISTS[name]
    desk.refuses(document, text)


def test_text_that_is_no_list_is_refused(desk):
    path = desk.folder / "list.json"
    for text in (b"", b"\xff", b"[" * 100_000, b" " * (8 * MIB + 1)):
        path.write_bytes(text)
        with refused(TargetFault.CONSENT_LIST, f"{path} is rejected"):
            read_list(path, desk.lab, desk.plan)
    with refused(TargetFault.CONSENT_LIST, "No such file"):
        read_list(desk.folder / "none.json", desk.lab, desk.plan)


def test_ones_own_list_must_be_ones_own(desk):
    path = desk.file([row()])
    assert read_list(path, desk.lab, desk.plan).drives[0].id == "S1"
    path.chmod(0o666)
    desk.refuses([row()], "can be written by other users, and it controls what is over")
    if not os.geteuid():
        path.chmod(0o644)
        os.chown(path, 65534, 65534)
        desk.refuses([row()], "belongs to another user")


def test_a_target_gets_the_words_of_its_own_drive_only():
    def words(drives, **entry):
        lab = Lab(targets={"t": LabTarget(**entry)})
        return listed_words(drives_of(drives), lab, "t")

    both = [row("S1"), row("S2", identity={"kernel": "x", "serial": "S2", "nsid": 2})]
    assert words(both, serial="S2", nsid=2) == ["S2"]
    assert words(both, serial="S3") == []
    assert words(both, path="/dev/disk/by-id/x") == ["S1", "S2"], "the guard decides"
    loop = row(id="/a/b", identity={"kernel": "loop0", "backing_file": "/a/b"})
    assert words([loop], backing_file="/a/b") == ["/a/b"]
    assert words([loop], path="/dev/vda") == [], "a path consents to no other place"
    assert listed_words(drives_of([loop]), Lab(), "/a/b") == []


def test_what_is_signed_has_no_value_that_is_the_default(desk):
    """Nor parts of a second: the text is the same for who reads and writes it again.

    Nor is the kernel's name of a drive, which is another one's later.
    """
    document = desk.signed(any_plan=True)
    said = document["consent"]
    assert "." not in said["signed_at"]
    identity = {"kernel": "", "model": "M", "serial": "S1"}
    signed = {
        "admin": "ada",
        "drives": [{"id": "S1", "identity": identity}],
        "lab": "attic",
        "plans": None,
        "signed_at": said["signed_at"],
        "until": said["until"],
    }
    data = f"ioplan-consent-1\n{json.dumps(signed)}".encode()
    public = public_text(read_key(desk.key))
    assert is_signed_by(public, document["signature"], data)


@needs_root
@pytest.mark.long
def test_a_run_takes_the_list_and_the_guard_stays(tmp_path, store_path, monkeypatch):
    """From `targets --json` to a run, as a person does it, with one drive of two."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    plan = plan_file(tmp_path, WRITES.replace("1s", "100ms"))
    images = [tmp_path / "one", tmp_path / "two"]
    for image in images:
        image.write_bytes(bytes(16 * MIB))
    key = ioplan("lab", "consent", "key", "--name", "ada").out
    lines = ['name = "attic"', key]
    for image in images:
        lines += [f"[targets.{image.name}]", f'backing_file = "{image}"']
        lines += ["writable = true"]
    lab = plan_file(tmp_path, "\n".join(lines), "lab.toml")
    file, signed = tmp_path / "drives.json", tmp_path / "signed.json"
    consent = ("lab", "consent")
    with loop_device(images[0]) as device, loop_device(images[1]):
        rows = json.loads(ioplan("targets", "--json", "--lab", lab).out)
        file.write_text(json.dumps([one for one in rows if one["name"] == "one"]))
        words = ("--until", "1h", "--plan", plan, "--lab", lab, "-o", signed)
        succeed(*consent, "sign", file, *words)
        shown = ioplan(*consent, "show", signed, "--lab", lab).out
        assert "signed by ada" in shown and str(images[0]) in shown
        run = ("run", plan, "--lab", lab, "--quiet", "--overwrite-from")
        for listed in (file, signed):
            succeed(*run, listed, "--target", "one")
            other = ioplan(*run, listed, "--target", "two")
            assert (other.code, "add --overwrite" in other.err) == (2, True)
        tell("mkfs.ext4", "-q", "-F", device)
        data = ioplan(*run, signed, "--target", "one")
        assert (data.code, "ext4" in data.err) == (2, True), data.err
