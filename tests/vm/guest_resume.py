"""Inside the second of two machines: the disks are there, in another order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from guest import call, mount_store, namespace, refused_row, row
from guest_cut import FINISHED

from ioplan.results.store import Store

SMALL, OTHER = "VMLAB-SMALL", "VMLAB-PLAIN/1"


@pytest.fixture(scope="module")
def store() -> Path:
    return mount_store()


def test_the_drives_have_changed_places(store):
    before = Path((store / "node").read_text())
    assert namespace("VMLAB-PLAIN") == before != namespace("VMLAB-SMALL")


def test_the_old_path_is_another_drive_now(store, tmp_path):
    """What was right before the restart would overwrite the wrong drive now."""
    path = (store / "node").read_text()
    done = call(
        tmp_path,
        *("run", store / "plan.ioplan", "--json", "--lab", store / "lab.toml"),
        *("--target", path, "--overwrite", SMALL, "--store", tmp_path / "s.db"),
    )
    assert 'serial = "VMLAB-PLAIN"' in done.err
    how = "`--target /dev/nvme0n1`, which was the lab's drive before a restart"
    refused_row(done, "drive that changed places", how, store)


def test_a_lab_by_the_old_path_does_not_fit(store, tmp_path):
    lab = tmp_path / "lab.toml"
    path = (store / "node").read_text()
    lab.write_text(
        f'[targets.drive]\npath = "{path}"\nserial = "{SMALL}"\nwritable = true\n'
    )
    done = call(
        tmp_path,
        *("run", store / "plan.ioplan", "--json", "--lab", lab),
        *("--target", "drive", "--overwrite", SMALL, "--store", tmp_path / "s.db"),
    )
    print(done.err)
    assert "is not the device" in done.err
    how = "a lab with `serial`, and a `path` that is another drive since a restart"
    refused_row(done, "drive that is not at its path", how, tmp_path)


def test_the_session_goes_on(store, tmp_path):
    """On the same drive; what was finished is kept, what was prepared is doubted."""
    with Store.open(store / "results.db") as opened:
        (session,) = opened.sessions()
        assert session.status == "running"  # nobody was left to say otherwise
        kept = list(opened.records(session.id))
    assert len(kept) >= FINISHED and {one.status for one in kept} == {"ok"}
    words = ("resume", "--json", "--store", store / "results.db")
    unproven = call(tmp_path, *words)
    assert unproven.code == 2 and f"add --overwrite-data {SMALL}" in unproven.err
    done = call(tmp_path, *words, "--overwrite-data", SMALL)
    print(done)
    assert done.code == 0
    notes = [line["text"] for line in done.of("note")]
    assert any("the host was rebooted" in text for text in notes)
    with Store.open(store / "results.db") as opened:
        (session,) = opened.sessions()
        records = list(opened.records(session.id))
        events = opened.events(session.id)
    (told,) = (one.text for one in events if one.kind == "resumed")
    assert session.status == "ok" and records[: len(kept)] == kept
    runs = [one for one in records if one.asked.kind == "run" and one.status == "ok"]
    assert [one.asked.cell["qd"] for one in runs] == ["1", "2", "4", "8"]
    assert {one.target["identity"]["serial"] for one in records} == {SMALL}
    assert records[-1].target["path"] == str(namespace("VMLAB-SMALL"))
    row(
        "faults",
        fault="the power goes",
        how="qemu is ended in the middle of a run; the store lies on an ext4 disk",
        status="ok",
        cause="",
        message=re.sub(r"\d+", "3", told),
        kept="all runs that had ended",
    )
