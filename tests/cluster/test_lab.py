"""The lab file, and which backend with which options it chooses."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan, plan_file
from refused import refused

from ioplan import LabFault
from ioplan.runner import Lab, LabError, read_lab
from targets import loop_device, needs_root

READS = 'test "R" { run random 4KiB 100/0 for 100ms }'


@pytest.fixture(autouse=True)
def no_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IOPLAN_LAB", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def lab_file(folder: Path, text: str) -> Path:
    path = folder / "lab.toml"
    path.write_text(text)
    return path


def test_it_is_found_by_environment_then_by_xdg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_lab(None) == Lab(), "without a file it says nothing"
    folder = tmp_path / "config/ioplan"
    folder.mkdir(parents=True)
    lab_file(folder, 'backend = "fio"\n[backends.fio]\nengine = "psync"\n')
    assert read_lab(None).backend == "fio"
    assert read_lab(None).options_of("fio") == {"engine": "psync"}
    monkeypatch.setenv("IOPLAN_LAB", str(lab_file(tmp_path, 'backend = "sim"')))
    assert read_lab(None).backend == "sim"


TARGET = '[targets.a]\nserial = "S"\n'
WRONG = [
    ("backend = ", "is not TOML"),
    ("= 1", "is not TOML"),
    ("backends = 3", "backends: Input should be"),
    ('speed = "fast"', "toml:1: speed: there is no key 'speed'; known: backend,"),
    (
        'backend = "fio"\n\n[target.fast]\npath = "/dev/sda"',
        "toml:3: target: there is no key 'target', did you mean 'targets'?",
    ),
    (
        '[targets.fast]\ndevice = "/dev/sda"',
        "toml:2: targets.fast.device: there is no key 'device', did you mean 'path'?",
    ),
    ('[targets.a]\nmodel = "SSD"', "toml:1: targets.a: it names no device"),
    (TARGET + 'writable = "yes"', "toml:3: targets.a.writable"),
    ('[targets.a]\nserial = ""', "toml:2: targets.a.serial"),
    (TARGET + "nsid = true", "toml:3: targets.a.nsid"),
    (TARGET + 'purge = "burn"', "'format', 'sanitize' or"),
    ('[targets."../x"]\nserial = "S"', "letters, digits"),
    ("x = 1\n" + "#" * (1 << 20), "is larger than"),
    ('[hosts.h1]\nadress = "h"\nport = 0\n', "toml:2: hosts.h1.adress: "),
    ('[hosts.h1]\nadress = "h"\nport = 0\n', "toml:3: hosts.h1.port"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_lab_says_where(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(LabError) as caught:
        read_lab(lab_file(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("none", "", LabFault.LAB_UNREADABLE),
        ("lab", "= 1", LabFault.LAB_SYNTAX),
        ("lab", "[hosts.h1]\nport = 0", LabFault.LAB_INVALID),
    ],
)
def test_what_is_wrong_has_a_kind(
    name: str, text: str, kind: LabFault, tmp_path: Path
) -> None:
    lab_file(tmp_path, text)
    with refused(kind, "lab"):
        read_lab(tmp_path / f"{name}.toml")


def test_the_lab_swaps_the_backend_without_touching_the_plan(
    tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, READS)
    lab = lab_file(tmp_path, 'backend = "sim"')
    done = ioplan("run", plan, "--lab", lab, "--create", "1GiB", "--json")
    assert done.code == 0, done.err
    assert done.of("record")[0]["record"]["backend"]["name"] == "sim"
    wrong = ioplan("run", plan, "--lab", lab_file(tmp_path, 'backend = "fioo"'))
    assert wrong.code == 2 and "there is no backend 'fioo'" in wrong.err
    option = ioplan("run", plan, "--backend", "sim", "--option", "speed")
    assert option.code == 2 and "--option takes NAME=VALUE" in option.err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "crosscheck"])
def test_a_name_without_any_lab_says_where_one_would_be(
    command: str, tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--backends", "io_uring,sim") if command == "crosscheck" else ()
    call = (command, plan_file(tmp_path, READS), *words, "--target", "fast")
    done = ioplan(*call)
    assert done.code == 2
    assert "there is no target 'fast': no lab file was read" in done.err
    assert str(tmp_path / "config/ioplan/lab.toml") in done.err
    other = ioplan(*call, "--lab", lab_file(tmp_path, "[targets]"))
    assert other.code == 2 and "no lab file" not in other.err


@needs_root
@pytest.mark.machine
@pytest.mark.parametrize("lab", ["", "[targets]"])
def test_the_name_of_a_drive_leads_to_its_path(
    lab: str, tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not to a scratch file of that name."""
    monkeypatch.chdir(tmp_path)
    words = ("--lab", lab_file(tmp_path, lab)) if lab else ()
    (tmp_path / "disk").write_bytes(bytes(1 << 20))
    with loop_device(tmp_path / "disk") as device:
        plan = plan_file(tmp_path, READS)
        done = ioplan("run", plan, "--target", device.name, *words)
    assert done.code == 2 and done.err.endswith(f"of that name is {device}\n")
    assert "--create" not in done.err
