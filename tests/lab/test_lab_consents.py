"""Lists of `ioplan targets --json`: signed, shown, and sent with a job."""

import json

import pytest
from command import plan_file, refuse, succeed

from ioplan.cli import RunCall, checked_plan
from ioplan.records import RunRequest
from ioplan_lab import with_consents

WRITES = 'test "T" { run random 4KiB 0/100 for 1s }'


def row(id, **identity):
    """A drive as `ioplan targets --json` prints it."""
    known = {"kernel": "nvme0n1", "model": "ACME", **identity}
    return {"name": "d", "id": id, "identity": known, "verdict": "writable"}


ROWS = [
    row("S1", serial="S1"),
    row("eui.2", wwid="eui.2"),
    row("/x", backing_file="/x"),
]


@pytest.mark.promise("labs.consent_list")
def test_a_list_is_signed_and_shown_and_permits_the_drives_that_a_job_takes(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    public = succeed("lab", "consent", "key", "--name", "ada").out
    lab, listed, signed = (tmp_path / name for name in ("lab.toml", "d.json", "c.json"))
    lab.write_text(f'name = "attic"\n{public}')
    listed.write_text(json.dumps(ROWS))
    sign = ("lab", "consent", "sign", listed, "--until", "7d", "--lab", lab)
    refuse("add --plan PLAN or --any-plan", *sign)
    refuse("--until", *sign[:4], "--until", "soon", "--any-plan")
    succeed(*sign, "--any-plan", "-o", signed)
    shown = succeed("lab", "consent", "show", signed, "--lab", lab).out
    assert "signed by ada" in shown and "3 drives:\n  S1  ACME" in shown
    lab.write_text(f'name = "cellar"\n{public}')
    refuse("it is for the lab 'attic'", "lab", "consent", "show", signed, "--lab", lab)

    lab.write_text(f'name = "attic"\n{public}')
    request = RunRequest(lab=lab, overwrite=("other",))
    plan = plan_file(tmp_path, WRITES)
    call = RunCall(request, plan, tmp_path / "s.db", overwrite_from=signed)
    chosen = [
        {"serial": "", "wwid": "eui.2"},
        {"serial": "S9", "wwid": ""},
        {"serial": "", "wwid": ""},  # not known: it may be any of them
    ]
    permitted = with_consents(call, checked_plan(plan, []), chosen)
    assert permitted.overwrite == ("other", "eui.2")
