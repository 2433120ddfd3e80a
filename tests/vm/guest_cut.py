"""Inside the first of two machines: the power goes in the middle of a session."""

from __future__ import annotations

from guest import Call, mount_store, namespace, qmp, sh

PLAN = """
precondition filled { write sequential 128KiB, 1 pass }

test "T" {
  after filled
  run   random 4KiB 100/0 for 4s
  vary  qd in 1, 2, 4, 8
}
"""
LAB = '[targets.drive]\nserial = "VMLAB-SMALL"\nwritable = true\n'
FINISHED = 3


def test_the_power_goes(tmp_path):
    """The preparation and two runs are finished by then, and the third goes on."""
    store = mount_store(make=True)
    (store / "plan.ioplan").write_text(PLAN)
    (store / "lab.toml").write_text(LAB)
    (store / "node").write_text(str(namespace("VMLAB-SMALL")))
    sh("sync")
    call = Call(
        tmp_path,
        *("run", store / "plan.ioplan", "--json", "--store", store / "results.db"),
        *("--lab", store / "lab.toml", "--target", "drive"),
        *("--overwrite", "VMLAB-SMALL"),
    )
    call.says('"type": "record"', times=FINISHED)
    call.says('"qd": 4')
    qmp("quit")
