"""The power meter and nvme-cli: programs that are asked, and what may go wrong."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from ioplan.backends import TargetFacts
from ioplan.job import Job
from ioplan.runner import Disk, Instruments, Tree
from ioplan.runner.telemetry import smart
from ioplan.runner.telemetry.instruments import InstrumentedRun
from ioplan.runner.telemetry.sensors import Meter
from ioplan.runner.telemetry.smart import Smart, volatile_write_cache

pytestmark = pytest.mark.slow

PATIENCE_S = 10.0
SMART_LOG = '{"temperature":323,"percent_used":1,"data_units_written":"71","name":"x"}'
OCP_LOG = '{"Physical media units written":{"hi":0,"lo":142},"Bad blocks":3}'
STATE = "get-feature:0x02 (Power Management), Current value:0x00000044"
ENDURANCE_LOG = '{"data_units_written":"70","media_units_written":"91"}'
CONTROLLER = """{"mn":"made up","tnvmcap":"1000","psds":[{"max_power":2500},{"max_power":1800},
{"max_power":900},{"max_power":40000,"max_power_scale":1},{"max_power":50}]}"""


def heard(meter: Meter) -> float | None:
    """The first answer, or none for as long as anything may take."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s and not meter.problem:
        if (watts := meter.now()) is not None:
            return watts
        time.sleep(0.01)
    return None


def test_a_meter_is_asked_again_and_again() -> None:
    meter = Meter(["sh", "-c", "echo 42.5"])
    assert [heard(meter), heard(meter)] == [42.5, 42.5]
    meter.close()
    assert not meter.problem


def test_a_slow_meter_is_not_waited_for_and_leaves_nothing(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    meter = Meter(["sh", "-c", f"sleep 60 & echo $$ $! >{pids}; wait"])
    began_s = time.monotonic()
    assert [meter.now() for _ in range(100)] == [None] * 100
    assert time.monotonic() - began_s < 2
    while not (pids.exists() and pids.read_text().strip()):
        time.sleep(0.01)
    meter.close()
    assert meter.process is None
    gone_s = time.monotonic() + PATIENCE_S
    for pid in map(int, pids.read_text().split()):
        while _lives(pid) and time.monotonic() < gone_s:
            time.sleep(0.01)
        assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def test_an_overdue_meter_is_killed_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioplan.runner.telemetry.sensors.TIMEOUT_S", 0.2)
    meter = Meter(["sleep", "60"])
    meter.now()
    first = meter.process
    assert heard(meter) is None
    assert first and first.returncode == -signal.SIGKILL
    assert "did not answer within" in meter.problem
    meter.close()


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
def test_a_meter_that_measures_nothing_says_why(command: list[str], said: str) -> None:
    meter = Meter(command)
    assert heard(meter) is None
    assert said in meter.problem
    meter.close()


MEDIA = "Physical media units written"


def nvme_cli(folder: Path, monkeypatch: pytest.MonkeyPatch, ocp: str) -> Path:
    """An `nvme` that prints what was recorded, and keeps what it was asked."""
    said = {
        **{"smart-log": SMART_LOG, "get-feature": STATE, "id-ctrl": CONTROLLER},
        "endurance-log": ENDURANCE_LOG,
    }
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


def test_logs_of_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvme_cli(tmp_path, monkeypatch, f"echo '{OCP_LOG}'")
    drive = Smart("/dev/nvme7n1")
    logs = drive.logs()
    assert logs.smart == {
        "temperature": 323,
        "percent_used": 1,
        "data_units_written": 71,
    }
    assert logs.ocp == {
        "Physical media units written: hi": 0,
        "Physical media units written: lo": 142,
        "Bad blocks": 3,
    }
    assert logs.endurance == {"data_units_written": 70, "media_units_written": 91}
    assert drive.capacity_bytes == 1000 and logs.at_s > 0
    assert logs.power_state == 4 and drive.max_state_watts(4) == pytest.approx(0.5)
    assert drive.max_state_watts(0) == 25.0 and drive.max_state_watts(
        3
    ) == pytest.approx(4.0)
    assert drive.max_state_watts(None) is None and not drive.problem


CACHE = "get-feature:0x06 (Volatile Write Cache), Current value:0x0000000"


@pytest.mark.parametrize(
    ("name", "kernel", "told", "state"),
    [
        ("nvme7n1", "write back", f"{CACHE}1", "enabled"),
        ("nvme7n1", "write back", f"{CACHE}0", "disabled"),
        ("nvme7n1", "write back", "NVMe status: INVALID_FIELD", None),
        ("nvme7n1", "write through", f"{CACHE}1", "absent"),
        ("sda", "write back", "", "enabled"),
        ("sda", "write through", "", "disabled"),
        ("zram0", "write back", "", None),
    ],
)
def test_whether_a_volatile_write_cache_is_on(
    name: str,
    kernel: str,
    told: str,
    state: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = nvme_cli(tmp_path, monkeypatch, "true")
    (tmp_path / "get-feature").write_text(told)
    queue = tmp_path / name / "queue"
    queue.mkdir(parents=True)
    (queue / "write_cache").write_text(f"{kernel}\n")
    smart = Smart("/dev/nvme7n1") if name.startswith("nvme") else None
    disk = Disk(tmp_path / name, is_target=True)
    assert volatile_write_cache(Tree(), disk, smart) == state
    assert volatile_write_cache(Tree(), Disk(disk.folder, False), smart) is None
    if told and state != "absent":
        assert asked.read_text() == "get-feature /dev/nvme7n1 --feature-id=6\n"


def instrumented(folder: Path) -> Instruments:
    """Of a file, with the logs of a drive."""
    facts = TargetFacts(
        path=str(folder / "absent"),
        kind="file",
        capacity_bytes=1 << 20,
        block_bytes=512,
    )
    instruments = Instruments(facts, tree=Tree(folder))
    instruments.smart = Smart("/dev/nvme7n1")
    return instruments


def test_what_is_written_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvme_cli(tmp_path, monkeypatch, f"cat {tmp_path}/ocp-log")
    instruments, log = instrumented(tmp_path), tmp_path / "smart-log"
    (tmp_path / "ocp-log").write_text(f'{{"{MEDIA}": 1000}}')
    assert instruments.without_meter() == ""
    meter, found = instruments.wear_meter(), []
    for units in (72, 74):
        log.write_text(f'{{"data_units_written": {units}}}')
        (tmp_path / "ocp-log").write_text(f'{{"{MEDIA}": {units * 1000}}}')
        wear = meter(None)
        assert wear and wear.source == "OCP"
        found.append((wear.host_written_bytes, wear.media_written_bytes))
    assert found == [(512_000, 71_000), (3 * 512_000, 73_000)]


def test_why_nothing_tells_what_goes_to_the_flash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvme_cli(tmp_path, monkeypatch, "exit 1")
    (tmp_path / "endurance-log").write_text("{}")
    instruments = instrumented(tmp_path)
    why = "the drive's log does not count what goes to its flash"
    assert instruments.without_meter() == why
    (tmp_path / "smart-log").write_text("{}")
    assert instruments.without_meter().startswith("SMART is not readable")
    instruments.smart = None
    assert "only an NVMe drive as a whole" in instruments.without_meter()


def test_what_is_written_during_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvme_cli(tmp_path, monkeypatch, f"cat {tmp_path}/ocp-log")
    name = MEDIA
    ocp, log = tmp_path / "ocp-log", tmp_path / "smart-log"
    instruments = instrumented(tmp_path)
    job = Job.model_construct(warmup_ns=0)
    ocp.write_text(json.dumps({name: {"hi": 0, "lo": 142}}))
    with InstrumentedRun(instruments, job) as run:
        ocp.write_text(json.dumps({name: {"hi": 0, "lo": 1_536_142}}))
        log.write_text('{"data_units_written": 73}')
    found = run.telemetry.wear
    assert found and (found.source, found.capacity_bytes) == ("OCP", 1000)
    assert (found.host_written_bytes, found.media_written_bytes) == (
        1_024_000,
        1_536_000,
    )
    assert found.span_s > 0


def test_a_log_that_is_refused_is_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = nvme_cli(tmp_path, monkeypatch, "echo no page >&2; exit 2")
    drive = Smart("/dev/nvme7n1")
    assert [drive.logs().ocp, drive.logs().ocp] == [{}, {}]
    assert drive.refused == {smart.OCP: "no page"}
    lines = asked.read_text().splitlines()
    assert sum(line.startswith("ocp") for line in lines) == 1
    assert lines.count("smart-log /dev/nvme7n1 --output-format=json") == 2


def test_a_drive_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvme_cli(tmp_path, monkeypatch, "exec sleep 60")
    monkeypatch.setattr(smart, "TIMEOUT_S", 0.3)
    began_s = time.monotonic()
    logs = Smart("/dev/nvme7n1").logs()
    assert logs.smart and not logs.ocp
    assert time.monotonic() - began_s < 10


def test_without_nvme_cli_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(smart, "SYSTEM_PATH", str(tmp_path))
    drive = Smart("/dev/nvme7n1")
    assert drive.logs().smart == {} and "install nvme-cli" in drive.problem
