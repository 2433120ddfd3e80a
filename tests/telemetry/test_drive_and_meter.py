"""The logs of a made-up drive by nvme-cli, and the lab's meter: programs that are asked."""

import json
import os

import pytest
from instruments import Machine, facts_of
from made_machine import DISK, nvme
from started import ends

from ioplan.runner import Tree, host_facts

pytestmark = pytest.mark.slow
about = pytest.approx


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


# facts of the drive


def test_where_a_drive_is(machine):
    machine.has_disk(is_target=True)
    nvme(machine.root)
    found = host_facts(facts_of(machine.target), tree=Tree(machine.root))["target"]
    assert found["device"] == "nvme0n1" and found["scheduler"] == "none"
    assert found["pci_address"] == "0000:00:03.0" and found["numa_node"] == 1
    assert found["irq_affinity"] == {"9": "4", "40": "0-3"}
    assert "mount_options" not in found


CACHE = "get-feature:0x06 (Volatile Write Cache), Current value:0x0000000"


@pytest.mark.parametrize(
    ("name", "kernel", "told", "state"),
    [
        ("nvme0n1", "write back", f"{CACHE}1", "enabled"),
        ("nvme0n1", "write back", f"{CACHE}0", "disabled"),
        ("nvme0n1", "write back", "NVMe status: INVALID_FIELD", None),
        ("nvme0n1", "write through", f"{CACHE}1", "absent"),
        ("sda", "write back", "", "enabled"),
        ("sda", "write through", "", "disabled"),
        ("zram0", "write back", "", None),
    ],
)
def test_whether_a_volatile_write_cache_is_on(
    name, kernel, told, state, machine, monkeypatch
):
    """A disk of SCSI without one is slower than usual, which is said."""
    asked = nvme_cli(machine, monkeypatch, "true")
    (machine.root / "get-feature").write_text(told)
    folder = DISK if name == "nvme0n1" else f"sys/block/{name}"
    nvme(machine.root)
    machine.put(**{f"{folder}/queue/write_cache": kernel})
    machine.has_disk(folder, is_target=True)
    found = host_facts(facts_of(machine.target), tree=Tree(machine.root))
    assert found["target"].get("volatile_write_cache") == state
    slow = [text for text in found["warnings"] if "write cache is off" in text]
    assert len(slow) == (name == "sda" and kernel == "write through")
    if told and state != "absent":
        assert "get-feature /dev/nvme0n1 --feature-id=6\n" in asked.read_text()


# the logs of a drive

MEDIA = "Physical media units written"
SMART_LOG = '{"temperature":323,"percent_used":1,"data_units_written":"71","name":"x"}'
STATE = "get-feature:0x02 (Power Management), Current value:0x00000044"
ENDURANCE_LOG = '{"data_units_written":"70","media_units_written":"91"}'
CONTROLLER = """{"mn":"made up","tnvmcap":"1000","psds":[{"max_power":2500},{"max_power":1800},
{"max_power":900},{"max_power":40000,"max_power_scale":1},{"max_power":50}]}"""


def nvme_cli(machine, monkeypatch, ocp):
    """An `nvme` that prints what was recorded, and keeps what it was asked."""
    said = {
        **{"smart-log": SMART_LOG, "get-feature": STATE, "id-ctrl": CONTROLLER},
        "endurance-log": ENDURANCE_LOG,
    }
    folder = machine.root
    for name, text in said.items():
        (folder / name).write_text(text)
    program = folder / "nvme"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{folder}/asked\n'
        f'case $1 in ocp) {ocp};; *) cat {folder}/"$1";; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "asked"


@pytest.fixture
def drive(machine, monkeypatch):
    """Whose target is an NVMe drive; what `ocp` prints is in the file `ocp-log`."""
    nvme_cli(machine, monkeypatch, f"cat {machine.root}/ocp-log")
    (machine.root / "ocp-log").write_text(json.dumps({MEDIA: {"hi": 0, "lo": 142}}))
    nvme(machine.root)
    machine.has_disk(is_target=True)
    return machine


@pytest.mark.parametrize(
    ("state", "watts"), [(0x44, 0.5), (0x40, 25.0), (0x43, 4.0), (None, None)]
)
def test_logs_of_a_drive_and_what_was_written_during_a_run(state, watts, drive):
    if state is not None:
        told = STATE.replace("00000044", f"{state:08x}")
        (drive.root / "get-feature").write_text(told)
    else:
        (drive.root / "get-feature").write_text("")
    with drive.run() as run:
        for t_s in (0, 1):
            run.moment(t_s)
        (drive.root / "ocp-log").write_text(
            json.dumps({MEDIA: {"hi": 0, "lo": 1_536_142}, "Bad blocks": 3})
        )
        changed = SMART_LOG.replace("71", "73").replace("}", ',"critical_warning":4}')
        (drive.root / "smart-log").write_text(changed)
    made, wear = run.means, run.run.telemetry.wear
    before = {"temperature": 323, "percent_used": 1, "data_units_written": 71}
    assert made.smart_before == before
    assert made.smart_after == {
        **before,
        "data_units_written": 73,
        "critical_warning": 4,
    }
    assert (
        made.ocp_after[f"{MEDIA}: lo"] == 1_536_142
        and made.ocp_after["Bad blocks"] == 3
    )
    assert made.nvme_power_state == (state and state & 31 if state else None)
    assert made.nvme_power_state_max_watts == (watts and about(watts))
    assert wear and (wear.source, wear.capacity_bytes) == ("OCP", 1000)
    written = (wear.host_written_bytes, wear.media_written_bytes)
    assert written == (1_024_000, 1_536_000) and wear.span_s > 0
    assert [text for text in run.warnings if "critical warning in SMART" in text]


def test_a_drive_that_has_throttled_says_so(drive):
    log = drive.root / "smart-log"
    log.write_text('{"warning_temp_time": 5, "thm_temp1_trans_count": 2}')
    with drive.run() as run:
        for t_s in (0, 1):
            run.moment(t_s)
        log.write_text('{"warning_temp_time": 6, "thm_temp1_trans_count": 2}')
    (told,) = run.warnings
    assert "(warning_temp_time of SMART rose)" in told


def test_what_is_written_so_far(drive):
    (drive.root / "ocp-log").write_text(f'{{"{MEDIA}": 1000}}')
    instruments, found = drive.instruments(), []
    assert instruments.without_meter() == ""
    meter = instruments.wear_meter()
    for units in (72, 74):
        (drive.root / "smart-log").write_text(f'{{"data_units_written": {units}}}')
        (drive.root / "ocp-log").write_text(f'{{"{MEDIA}": {units * 1000}}}')
        wear = meter(None)
        assert wear and wear.source == "OCP"
        found.append((wear.host_written_bytes, wear.media_written_bytes))
    assert found == [(512_000, 71_000), (3 * 512_000, 73_000)]


def test_why_nothing_tells_what_goes_to_the_flash(machine, monkeypatch):
    """A log that is refused is asked for once, another each time."""
    nvme(machine.root)
    assert "only an NVMe drive as a whole" in machine.instruments().without_meter()
    machine.has_disk(is_target=True)
    asked = nvme_cli(machine, monkeypatch, "echo no page >&2; exit 1")
    (machine.root / "endurance-log").write_text("{}")
    instruments = machine.instruments()
    why = "the drive's log does not count writes to its flash"
    assert [instruments.without_meter() for _ in range(2)] == [why, why]
    lines = asked.read_text().splitlines()
    assert sum(line.startswith("ocp") for line in lines) == 1
    assert lines.count("smart-log /dev/nvme0n1 --output-format=json") == 2
    (machine.root / "smart-log").write_text("{}")
    assert machine.instruments().without_meter().startswith("SMART is not readable")


def test_an_nvme_that_hangs_or_is_not_there(machine, monkeypatch):
    nvme(machine.root)
    machine.has_disk(is_target=True)
    monkeypatch.setattr("ioplan.runner.telemetry.smart.TIMEOUT_S", 0.3)
    nvme_cli(machine, monkeypatch, "exec sleep 60")
    with machine.run() as run:
        for t_s in (0, 1):
            run.moment(t_s)
    assert run.means.smart_after and not run.means.ocp_after
    monkeypatch.setenv("PATH", str(machine.root / "none"))
    monkeypatch.setattr("ioplan.runner.telemetry.smart.SYSTEM_PATH", "")
    assert "install nvme-cli" in machine.instruments().unavailable()[-1]


# the lab's meter


def metered(machine, *command):
    """A run whose meter has answered, or failed."""
    with machine.run(*command) as run:
        sampler = run.run.sampler
        for number in range(2000):
            run.moment(number / 100)
            if sampler.meter.problem or any(
                "meter" in s.watts for s in sampler.samples[2:]
            ):
                break
    return run


def test_a_meter_counts_before_all_else(machine):
    machine.put(
        **{"sys/class/hwmon/hwmon0/name": "power_meter"},
        **{"sys/class/hwmon/hwmon0/power1_average": 90_000_000},
    )
    made = metered(machine, "sh", "-c", "echo 100").means
    assert (made.watts_source, made.watts) == ("meter", 100.0)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sh", "-c", "echo oh no >&2; exit 3"], "ended with 3: 'oh no'"),
        (["echo", "12 W"], "printed '12 W'"),
        (["echo", "nan"], "printed 'nan'"),
        (["echo", "-1"], "printed '-1'"),
        (["true"], "printed ''"),
        (["/no/such/meter", "--watts"], "`/no/such/meter --watts` cannot be started"),
    ],
)
def test_a_meter_that_measures_nothing_says_why(command, said, machine):
    run = metered(machine, *command)
    (told,) = run.warnings
    assert (said in told and run.means is None) or run.means.watts is None


@pytest.mark.parametrize("overdue", [False, True])
def test_a_slow_meter_is_not_waited_for_and_leaves_nothing(overdue, machine):
    pids = machine.root / "pids"
    with machine.run("sh", "-c", f"sleep 60 & echo $$ $! >{pids}; wait") as run:
        run.moment(0)
        while not (pids.exists() and len(pids.read_text().split()) == 2):
            run.moment(0)
        run.moment(11 if overdue else 1)
    assert ("did not answer within" in "".join(run.warnings)) == overdue
    assert all(ends(int(pid), 10) for pid in pids.read_text().split())
