"""`--redact`: no byte of a bundle tells whose machine it was; lab secrets never do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packed import unpacked_in
from run_data import run, session

from ioplan.records.drive import Drive
from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.run_request import Resolved, RunRequest
from ioplan.records.session import SessionEvent
from ioplan.results.share.bundle import read_bundle
from ioplan.results.share.container import BundleError, read
from ioplan.results.share.contents import Bundled
from ioplan.results.share.recorded_plan import run_ids
from ioplan.results.share.redact import Names, hider, redacted
from ioplan.results.store.store import Store

HOST, SERIAL, USER = "dbserver7.corp.example", "S4EVNX0R123456", "malicek"
DISK = f"/dev/disk/by-id/nvme-Samsung_{SERIAL}"
HOME_FILE = f"/home/{USER}/Lab Zettel/x.ioplan"
SECRETS = [HOST, "dbserver7", SERIAL, USER, DISK, HOME_FILE, "Zettel", "10.20.30.40"]
PLAN = f"""# On {HOST}, by {USER}: {DISK}
plan "Review of {SERIAL}"
test "On dbserver7" {{
  run random 4KiB 67/33, qd 4 for 3s
  expect errors == 0
}}
"""
KEY = b"k" * 32


def secret(number: int, id: str) -> tuple[RunRecord, RunDetail]:
    """A run whose record has the names wherever texts can stand."""
    made, detail = run(
        number, session=id, test="On dbserver7", cell={f"{USER}_x": HOST}
    )
    target = {"path": DISK, "identity": {"serial": SERIAL, "model": "980"}}
    update = {
        "target": {**made.target, **target},
        "host": {"hostname": HOST, "user": USER, "disks": {f"{SERIAL}-part1": "ext4"}},
        "message": f"{DISK}: cannot be opened on {HOST} (10.20.30.40)",
        "warnings": (f"{HOME_FILE} was edited by {USER}",),
        "asked": made.asked.model_copy(
            update={"plan_file": HOME_FILE, "plan": f"Review of {SERIAL}",
                    "test": "On dbserver7", "cell": {f"{USER}_x": HOST},
                    "job": made.asked.job.model_copy(update={"target": DISK})}
        ),
    }  # fmt: skip
    named = tuple(
        one.model_copy(update={"stream": f"of_{USER}"}) for one in detail.histograms
    )
    return made.model_copy(update=update), detail.model_copy(
        update={"histograms": named}
    )


def put(path: Path, id: str = "20261121-054512-k3f9") -> str:
    """A store with a session full of names."""
    asked = RunRequest(
        targets=(DISK,), lab=Path(f"/home/{USER}/lab.toml"), overwrite=(SERIAL,)
    )
    known = Resolved(
        plan=HOME_FILE,
        target_key=f"block serial={SERIAL} 1000",
        files={f"{USER}/w.ioplan": f"# of {HOST}\nworkload w = random 4KiB 100/0\n"},
    )
    made = session(
        id, plan=f"Review of {SERIAL}", plan_file=HOME_FILE, plan_text=PLAN, target=DISK,
        request=asked, resolved=known, host={"hostname": HOST}, status="ok", ended_at="2026-11-21T06:00:00Z",
        host_name=HOST, person=USER, note=f"for {USER} on {HOST}", tags=(SERIAL,),
        drive=Drive(serial=SERIAL, model="980"),
    )  # fmt: skip
    with Store.open(path) as store:
        store.begin(made)
        for number in (1, 2):
            store.add(*secret(number, id))
        told = SessionEvent(at="2026-11-21T06:00:00Z", kind="edited", text=PLAN)
        store.add_event(id, told)
    return id


def every_byte(path: Path) -> bytes:
    """The file, its members unpacked, and what is packed inside of those."""
    found = [path.read_bytes()]
    for name, data in read(found[0]).members.items():
        found += [name.encode(), data]
        found += unpacked_in(name, data)
    return b"\n".join(found)


@pytest.mark.long
def test_no_byte_has_a_name_and_each_name_one_pseudonym(
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
    for kind in ("host", "serial", "user", "path"):
        known, other = (
            set(re.findall(rf"\b{kind}_[0-9a-f]{{8}}", text)) for text in texts
        )
        assert known and known == other, "the same names have the same pseudonyms"
    one = read_bundle(hidden).sessions[0]
    record, detail = one.runs[0]
    host = record.host["hostname"]
    assert record.asked.cell == {f"{record.host['user']}_x": host} or host in str(
        record.asked.cell
    )
    assert host in record.message and host in one.session.plan_text
    assert record.target["identity"]["serial"] in one.session.plan
    assert detail.histograms[0].stream == f"of_{record.host['user']}"
    assert record.target["identity"]["model"] == "980"
    assert record.total == secret(1, first)[0].total
    shown = ioplan("show", hidden)
    assert shown.code == 0 and host in shown.out


def test_pseudonyms_tell_nothing_without_the_key() -> None:
    names = Names(frozenset({"h1"}), frozenset(), frozenset())
    assert hider(names, b"a")("h1") != hider(names, b"b")("h1")


STREAMS = """workload pair {
  web1 = random 4KiB 100/0
  b = random 4KiB 100/0
}
test "T" { run pair for 1s }
"""


def bundled(plan: str) -> Bundled:
    """A session of the host web1."""
    made = session(plan_text=plan, host={"hostname": "web1"})
    return Bundled(made, (), (run(1),))


def test_a_name_that_decides_what_is_run_is_not_taken_out() -> None:
    """Results are told apart by the names of streams, so these are in the ids."""
    with pytest.raises(BundleError, match="rename it in the plan"):
        redacted((bundled(STREAMS),), KEY, [], [])


def test_names_that_only_the_lab_has_are_taken_out() -> None:
    lab = '{"target": {"wwid": "eui.0025385b71b1a2c3", "path": "/dev/my disk"}}'
    one = Bundled(session(plan_text=PLAN), (), (run(1),), lab)
    (found,) = redacted((one,), KEY, [], [])
    assert "385b71" not in found.lab and "my disk" not in found.lab


def test_a_name_in_a_plan_that_decides_nothing_is_taken_out() -> None:
    plan = 'workload web1 = random 4KiB 100/0\ntest "T" { run web1 for 1s }\n'
    (found,) = redacted((bundled(plan),), KEY, [], [])
    assert "web1" not in found.session.plan_text
    assert run_ids(found.session) == run_ids(bundled(plan).session) != None  # noqa: E711


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("On DBServer7: s4evnx0r123456 of Malicek", "On host_: serial_ of user_"),
        ("dbserver7.lab.corp.example.", "host_."),
        ("dbserver7.local, dbserver7.qd", "host_, host_.qd"),
        ("open:/srv/acme/x: no", "open:/path_: no"),
        ("file:///srv/acme/x", "file:///path_"),
        ("[fd00:12::1:5]:4420, 2001:db8:0:0:0:0:0:1", "[host_]:4420, host_"),
        ("00:1B:21:aa:bb:cc at 12:30:45, 0000:01:00.0", "host_ at 12:30:45, 0000:01:00.0"),
        ("https://example.org/x p.ioplan:3:4", "https://example.org/x p.ioplan:3:4"),
    ],
)  # fmt: skip
def test_a_name_is_hidden_however_it_is_written(text: str, left: str) -> None:
    names = Names(frozenset({"dbserver7"}), frozenset({SERIAL}), frozenset({USER}))
    hide = hider(names, KEY)
    assert re.sub(r"(?<=_)[0-9a-f]{8}", "", hide(text)) == left
    assert hide("DBSERVER7") == hide("dbserver7")


@given(st.text(alphabet="abc/ .-_0:", max_size=60))
@example("0a.b")
@settings(max_examples=500)
@pytest.mark.long
def test_hiding_leaves_no_name_behind(text: str) -> None:
    names = Names(frozenset({"a.b"}), frozenset({"abc0000"}), frozenset({"cab"}))
    hidden = hider(names, KEY)(f"{text} abc0000x (cab) a.b")
    assert "abc0000" not in hidden
    for name in (r"a\.b", "cab"):  # short names are hidden as whole words
        assert not re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", hidden)


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


@pytest.mark.parametrize("user", ["test", "run", "io_uring", "iops"])
def test_an_ordinary_word_is_no_name(user: str) -> None:
    record, detail = run(1)
    one = Bundled(session(plan_text=PLAN), (), ((record, detail),))
    (found,) = redacted((one,), KEY, [], [user])
    assert found.runs[0][0].asked.kind == "run"
