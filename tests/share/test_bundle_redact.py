"""What of a session may be shared stands in a list: nothing else is in a bundle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan
from figures import run
from packed import unpacked_in
from sessions import session

from ioplan.records import (
    Drive,
    EventMade,
    Resolved,
    RunDetail,
    RunRecord,
    RunRequest,
    SessionEvent,
)
from ioplan.results import read_bundle
from ioplan.results.share.container import read
from ioplan.results.share.recorded_plan import run_ids
from ioplan.results.store import Store

HOST, SERIAL, USER = "dbserver7.corp.example", "S4EVNX0R123456", "malicek"
DISK = f"/dev/disk/by-id/nvme-Samsung_{SERIAL}"
HOME_FILE = f"/home/{USER}/Lab Zettel/x.ioplan"
SECRETS = [HOST, "dbserver7", SERIAL, USER, DISK, HOME_FILE, "Zettel", "10.20.30.40"]
PLAN = f"""# On {HOST}, by {USER}: {DISK}
plan "Review of a drive"
use "w.ioplan" as w  # of {USER}
test "Reads" {{
  run random 4KiB 67/33, qd 4 for 3s  # on {HOST}
  expect errors == 0
}}
"""


def secret(number: int, id: str) -> tuple[RunRecord, RunDetail]:
    """A run whose record has the names wherever others than the plan have a say."""
    made, detail = run(number, session=id, test="Reads")
    told = f"{DISK}: cannot be opened on {HOST} (10.20.30.40)"
    happened = EventMade(
        name="failover", start_s=1.0, end_s=1.1, host=HOST, exit_code=0,
        output=told, error=told,
    )  # fmt: skip
    job = made.asked.job.model_copy(update={"target": DISK})
    update = {
        "target": {
            **made.target,
            "path": DISK,
            "identity": {"serial": SERIAL, "model": "980", "wwid": f"eui.{SERIAL}"},
        },
        "host": {
            "hostname": HOST, "user": USER, "disks": {f"{SERIAL}-part1": "ext4"},
            "warnings": [told], "target": {DISK: HOST}, "cpu": "EPYC 9554",
        },
        "backend": made.backend.model_copy(
            update={"reason": told, "facts": {"hosts": {HOST: DISK}, "path": HOME_FILE}}
        ),
        "message": told,
        "events": (happened,),
        "warnings": (f"{HOME_FILE} was edited by {USER}",),
        "asked": made.asked.model_copy(update={"plan_file": HOME_FILE, "job": job}),
    }  # fmt: skip
    return made.model_copy(update=update), detail


def put(path: Path, id: str = "20261121-054512-k3f9") -> str:
    """A store with a session full of names."""
    asked = RunRequest(
        targets=(DISK,), lab=Path(f"/home/{USER}/lab.toml"), overwrite=(SERIAL,)
    )
    known = Resolved(
        plan=HOME_FILE,
        target_key=f"block serial={SERIAL} 1000",
        files={"w.ioplan": f"# of {HOST}\nworkload w = random 4KiB 100/0\n"},
        options={"rpc": HOME_FILE},
        drive_file=f"# measured on {HOST}\nname = 'TLC'\n",
    )
    made = session(
        id, plan="Review of a drive", plan_file=HOME_FILE, plan_text=PLAN, target=DISK,
        request=asked, resolved=known, host={"hostname": HOST}, status="ok", ended_at="2026-11-21T06:00:00Z",
        host_name=HOST, person=USER, note=f"for {USER} on {HOST}", tags=(SERIAL,),
        drive=Drive(serial=SERIAL, model="980", lab_name=USER, wwid=f"eui.{SERIAL}"),
    )  # fmt: skip
    with Store.open(path) as store:
        store.begin(made)
        for number in (1, 2):
            store.add(*secret(number, id))
        told = SessionEvent(at="2026-11-21T06:00:00Z", kind="edited", text=PLAN)
        store.add_event(id, told)
        gone = f"{DISK} is gone from {HOST}"
        store.add_event(id, told.model_copy(update={"kind": "failed", "text": gone}))
    return id


def every_byte(path: Path) -> bytes:
    """The file, its members unpacked, and what is packed inside of those."""
    found = [path.read_bytes()]
    for name, data in read(found[0]).members.items():
        found += [name.encode(), data]
        found += unpacked_in(name, data)
    return b"\n".join(found)


@pytest.mark.long
@pytest.mark.promise("share.redacted", "share.redacted")
def test_no_byte_has_a_name_and_a_drive_has_one_pseudonym(
    store_path: Path, tmp_path: Path
) -> None:
    first = put(store_path)
    second = put(tmp_path / "other.db", "20261121-064512-aaaa")
    plain, hidden, again = (tmp_path / f"{name}.ioplan-bundle" for name in "pha")
    assert ioplan("bundle", first, "-o", plain).code == 0
    assert ioplan("bundle", first, "-o", hidden, "--redact").code == 0
    done = ioplan(
        "bundle", second, "-o", again, "--redact", "--store", tmp_path / "other.db"
    )
    assert done.code == 0, done.err
    everything = every_byte(plain)
    for name in SECRETS:
        assert name.encode() in everything, f"the test does not look for {name}"
    for path in (hidden, again):
        everything = every_byte(path)
        assert [n for n in SECRETS if n.encode().lower() in everything.lower()] == []
    texts = [every_byte(path).decode(errors="replace") for path in (hidden, again)]
    for kind in ("host", "drive"):
        known, other = (
            set(re.findall(rf"\b{kind}_[0-9a-f]{{8}}", text)) for text in texts
        )
        assert len(known) == 1 and known == other, "one name has one pseudonym"


@pytest.mark.long
def test_figures_the_plan_and_the_machine_are_as_they_were(
    store_path: Path, tmp_path: Path
) -> None:
    id, out = put(store_path), tmp_path / "x.ioplan-bundle"
    assert ioplan("bundle", id, "-o", out, "--redact").code == 0
    (one,) = read_bundle(out).sessions
    record, detail = one.runs[0]
    before, before_detail = secret(1, id)
    assert (record.total, record.verdicts) == (before.total, before.verdicts)
    assert detail == before_detail.model_copy(update={"telemetry": detail.telemetry})
    assert record.target["identity"]["model"] == "980"
    assert record.host["cpu"] == "EPYC 9554"
    with Store.open(store_path) as store:
        assert run_ids(one.session) == run_ids(store.session(id)) != None  # noqa: E711
    assert 'test "Reads"' in one.session.plan_text
    shown = ioplan("show", out)
    assert shown.code == 0 and "Review of a drive on redacted" in shown.out


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


def test_of_the_lab_only_what_bears_on_results(
    store_path: Path, tmp_path: Path
) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    made = session(
        status="ok",
        plan_text=PLAN,
        request=RunRequest(lab=lab, targets=("fast",)),
        resolved=Resolved(options={"engine": "libaio", "rpc_password": "hunter6"}),
    )
    with Store.open(store_path) as store:
        store.begin(made)
        store.add(*run(1))
    out = tmp_path / "x.ioplan-bundle"
    assert ioplan("bundle", "last", "-o", out).code == 0
    assert b"hunter" not in every_byte(out)
    kept = read_bundle(out).sessions[0].lab
    assert '"silence_s": 5' in kept and SERIAL in kept and '"engine": "libaio"' in kept
