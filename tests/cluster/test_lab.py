"""The lab file, and which backend with which options it chooses."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from command import ioplan, plan_file
from refused import refused

from ioplan import LabFault
from ioplan.cli import Terminal
from ioplan.cli.display.lines import Lines
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


def test_without_a_file_the_lab_says_nothing() -> None:
    assert read_lab(None) == Lab()
    assert Lab().options_of("fio") == {}


def test_options_and_default_backend(tmp_path: Path) -> None:
    text = 'backend = "sim"\n[backends.fio]\nengine = "psync"\n'
    lab = read_lab(lab_file(tmp_path, text))
    assert (lab.backend, lab.options_of("fio")) == ("sim", {"engine": "psync"})


def test_it_is_found_by_environment_then_by_xdg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "config/ioplan"
    folder.mkdir(parents=True)
    lab_file(folder, 'backend = "fio"')
    assert read_lab(None).backend == "fio"
    monkeypatch.setenv("IOPLAN_LAB", str(lab_file(tmp_path, 'backend = "sim"')))
    assert read_lab(None).backend == "sim"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("backend = ", "is not TOML"),
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
    ],
)
def test_a_wrong_lab_says_where(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(LabError) as caught:
        read_lab(lab_file(tmp_path, text))
    assert message in str(caught.value)
    with refused(LabFault.LAB_UNREADABLE, "cannot read the lab"):
        read_lab(tmp_path / "none.toml")
    with refused(LabFault.LAB_SYNTAX, "is not TOML"):
        read_lab(lab_file(tmp_path, "= 1"))


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\n[targets.a]\nserail = "S1"', r"lab.toml:3: targets.a.serail: .*'serial'"),
        ('[targets.a]\nmodel = "SSD"', r"lab.toml:1: targets.a: it names no device"),
        ('[targets.a]\nserial = "S"\nwritable = "yes"', r"lab.toml:3: .*writable"),
        ('[targets.a]\nserial = ""', r"lab.toml:2: targets.a.serial"),
        ('[targets.a]\nserial = "S"\nnsid = true', r"lab.toml:3: targets.a.nsid"),
        ('[targets.a]\nserial = "S"\npurge = "burn"', "'format', 'sanitize' or"),
        ('[targets."../x"]\nserial = "S"', "letters, digits"),
        ("x = 1\n" + "#" * (1 << 20), "is larger than"),
    ],
)
def test_a_wrong_target_says_in_which_line(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(LabError, match=message):
        read_lab(lab_file(tmp_path, text))


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


def test_a_long_note_is_wrapped_by_words_at_a_terminal() -> None:
    absent = "a thing that cannot be measured here, " * 5
    for terminal in (True, False):
        out = io.StringIO()
        Lines(Terminal(file=out, width=80, force_terminal=terminal)).note(absent)
        rows = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
        assert (len(rows) > 1) == terminal
        assert " ".join(" ".join(rows).split()) == absent.strip()
