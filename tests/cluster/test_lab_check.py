"""Labs of several hosts: their file, and what `lab up` refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import paths
import pytest
from command import ioplan, plan_file
from refused import refused

from ioplan import LabFault
from ioplan.runner import LabError, LabHost, for_host, read_lab
from targets import loop_device, needs_root

EXAMPLE = paths.ROOT / "examples/lab/lab.toml"


def lab_file(folder: Path, text: str) -> Path:
    path = folder / "lab.toml"
    path.write_text(text)
    return path


def host(name: str, *reach: str) -> str:
    """A host that is this machine."""
    said = [f"[hosts.{name}]", f'python = "{sys.executable}"']
    return "\n".join([*said, f"reach = {json.dumps(reach or ('env',))}", ""])


def test_the_example_is_right() -> None:
    done = ioplan("lab", "check", "--lab", EXAMPLE)
    assert done.code == 0, done.err
    assert "group all-gen5: 2 targets" in done.out
    assert "group rack: 3 targets" in done.out, "by names and patterns"
    assert all(len(line) <= 80 for line in done.out.splitlines()[:-1])


def test_a_host_sees_its_own_part() -> None:
    lab = for_host(read_lab(EXAMPLE), "h2")
    assert list(lab.targets) == ["gen5-2", "gen4-1"]
    assert (lab.backend, lab.options_of("fio")) == ("fio", {"engine": "libaio"})
    assert for_host(read_lab(EXAMPLE), "h1").backend == "io_uring"


def test_all_that_is_wrong_is_said_with_its_line(tmp_path: Path) -> None:
    text = """[hosts.rack]
[targets.a]
host = "rach"
serial = "1"
[targets.two]
host = "rack"
serial = "2"
[targets.c]
host = "rack"
serial = "2"
[groups]
a = ["two"]
none = []
some = ["two", "gen5-*", "twoo"]
twice = ["two", "c"]
"""
    path = lab_file(tmp_path, text)
    done = ioplan("lab", "check", "--lab", path)
    assert done.code == 2
    said = done.err.replace(f"the lab {path}:", "").splitlines()
    assert said == [
        "error: 3: targets.a.host: the lab has no host 'rach', did you mean 'rack'?",
        "12: groups.a: a target has this name too; give the group another one",
        "13: groups.none: it has no target; name some, or leave the group out",
        "14: groups.some: the lab has no target 'gen5-*'",
        "14: groups.some: the lab has no target 'twoo', did you mean 'two'?",
        "10: targets.c.serial: the target 'two' is the same one",
    ]


def test_commands_and_shared_targets_are_checked(tmp_path: Path) -> None:
    text = """[hosts.h1]
power = { comand = ["meter"] }
[targets.a]
serial = "1"
hosts = ["h1", "h1"]
[targets.b]
serial = "2"
purge = { command = ["erase", "/dev/sda"] }
[targets.c]
serial = "3"
purge = 5
cpus = "all"
"""
    with pytest.raises(LabError) as caught:
        read_lab(lab_file(tmp_path, text))
    said = str(caught.value).replace(f"the lab {tmp_path}/lab.toml:", "").splitlines()
    assert said == [
        "3: targets.a: it names a host twice; name each once",
        "8: targets.b.purge: none of its arguments has {device}, the device to erase",
        '11: targets.c.purge: it is a method such as "format", or a table with a command',
        "12: targets.c.cpus: CPUs are written as the kernel writes them, such as "
        '"2-5,8"',
        "2: hosts.h1.power.command: Field required",
        "2: hosts.h1.power.comand: there is no key 'comand', did you mean "
        "'command'?; known: command",
    ]


def test_a_shared_target_is_on_all_its_hosts(tmp_path: Path) -> None:
    shared = '[targets.s]\nserial = "1"\nhosts = ["h1", "h2"]\n'
    power = 'power = { command = ["meter"] }\n'
    lab = read_lab(lab_file(tmp_path, f"[hosts.h1]\n[hosts.h2]\n{shared}{power}"))
    assert not lab.here
    for host in ("h1", "h2"):
        (entry,) = for_host(lab, host).targets.values()
        assert (entry.host, entry.hosts) == (None, ())
        assert lab.meter_of(entry) == ("meter",)
    done = ioplan("lab", "check", "--lab", tmp_path / "lab.toml")
    assert "h1, h2" in done.out and "note" not in done.out
    lost = '[hosts.h1]\n[targets.s]\nserial = "1"\nhosts = ["h1", "rack"]\n'
    said = "4: targets.s.hosts: the lab has no host 'rack'"
    with refused(LabFault.LAB_INVALID, said):
        read_lab(lab_file(tmp_path, lost))


def test_check_needs_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("IOPLAN_LAB", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "there is no lab file" in ioplan("lab", "check").err


@needs_root
def test_what_is_said_of_another_host_does_not_hold_here(tmp_path: Path) -> None:
    """A device here that looks like one of the lab's over there stays refused."""
    backing = tmp_path / "disk.img"
    backing.write_bytes(bytes(16 << 20))
    said = f'[hosts.h1]\n[targets.a]\nhost = "h1"\nbacking_file = "{backing}"\n'
    lab = lab_file(tmp_path, said + "writable = true\n")
    plan = plan_file(tmp_path, 'test "W" { run random 4KiB 0/100 for 100ms }')
    with loop_device(backing) as device:
        words = ("--lab", lab, "--target", device, "--overwrite", backing)
        done = ioplan("run", plan, *words, "--store", tmp_path / "r.db")
        assert done.code == 2
        assert "the lab does not name the block device" in done.err
    done = ioplan("plan", plan, "--lab", lab, "--target", "a")
    assert "'a' is on the host h1" in done.err


# ---- lab up


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://10.0.0.1:8786", "has no TLS"),
        ("tcp://127.0.0.1:8786", "every local account"),
        ("tcp://[::1]:8786", "write tls:// for tcp://"),
        ("tls://10.0.0.1", "is none; write for example"),
        ("http://127.0.0.1:80", "is none; write for example"),
        ("", "the lab needs hosts and a scheduler"),
    ],
)
@pytest.mark.promise("labs.tls")
def test_plain_tcp_is_refused(address: str, message: str, tmp_path: Path) -> None:
    text = f'scheduler = "{address}"\n' + host("h1") if address else ""
    done = ioplan("lab", "up", "--lab", lab_file(tmp_path, text))
    assert done.code == 2
    assert message in done.err


ASKED = """touch {folder}/$$
n=0
while [ $(ls {folder} | wc -l) -lt {hosts} ] && [ $n -lt 300 ]
do sleep 0.1; n=$((n+1)); done
[ $n -lt 300 ] && echo all are asked >&2
exit 255"""


@pytest.mark.slow
def test_hosts_are_asked_at_once_and_dead_ones_are_named(tmp_path: Path) -> None:
    """Each answers when all others were asked, too; so none waits for another's end."""
    folder, hosts = tmp_path / "asked", 20
    folder.mkdir()
    script = ASKED.format(folder=folder, hosts=hosts)
    text = 'scheduler = "tls://10.0.0.1:8786"\n'
    text += "".join(host(f"h{n}", "sh", "-c", script, "--") for n in range(hosts))
    done = ioplan("lab", "up", "--lab", lab_file(tmp_path, text))
    for number in range(hosts):
        assert f"h{number} does not answer: all are asked" in done.err
    assert "ConnectTimeout=5" in LabHost().command("h1")


@pytest.mark.slow
def test_a_host_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda *words, **more: run(*words, **more | {"timeout": 0.1})
    )
    text = 'scheduler = "tls://10.0.0.1:8786"\n' + host("h1", "sh", "-c", "sleep 60")
    done = ioplan("lab", "up", "--lab", lab_file(tmp_path, text))
    assert "the host h1 did not answer within 30 s" in done.err


@pytest.mark.slow
@pytest.mark.long
def test_another_version_is_found_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    facts = tmp_path / "ioplan-0.0.9.dist-info/METADATA"
    facts.parent.mkdir()
    facts.write_text("Metadata-Version: 2.1\nName: ioplan\nVersion: 0.0.9\n")
    old = host("old", "env", f"PYTHONPATH={tmp_path}")
    text = 'scheduler = "tls://10.0.0.1:8786"\n' + old
    done = ioplan("lab", "up", "--lab", lab_file(tmp_path, text))
    assert done.code == 2
    assert "the host old has other versions: ioplan 0.0.9 there" in done.err
    assert "the scheduler" not in done.out
    assert not list(state.rglob("*")), "no keys are made"


def test_a_unit_for_a_standing_lab(tmp_path: Path) -> None:
    done = ioplan("lab", "unit", "h1", "--lab", EXAMPLE)
    command = "/opt/ioplan/bin/python -m ioplan.cli lab worker --name h1"
    assert f"ExecStart={command} --host 10.0.0.11 --port 8788" in done.out
    assert "KillMode=process" in done.out
    done = ioplan("lab", "unit", "--scheduler", "--lab", EXAMPLE)
    assert "lab scheduler --at tls://10.0.0.1:8786" in done.out
    assert "KillMode" not in done.out
    assert "name a host, or add --scheduler" in ioplan("lab", "unit").err
    assert "no host 'h3'" in ioplan("lab", "unit", "h3", "--lab", EXAMPLE).err


FABRIC = "nvme:tcp:192.0.2.1:4420:nqn.2016-06.io.spdk:cnode1"


def test_what_does_the_io_of_an_address_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `lab check`, and by `run` without --backend; another backend refuses it."""
    monkeypatch.delenv("IOPLAN_SPDK_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    lab, plan = tmp_path / "lab.toml", tmp_path / "r.ioplan"
    lab.write_text(f'[targets.far]\npath = "{FABRIC}"\n[targets.near]\nserial = "S1"\n')
    plan.write_text('test "r" { run random 4KiB 100/0, qd 1 for 1s }')
    rows = [
        line.split() for line in ioplan("lab", "check", "--lab", lab).out.splitlines()
    ]
    backends = {row[0]: row[-2] for row in rows if row and row[0] in ("far", "near")}
    assert backends == {"far": "spdk", "near": "io_uring"}
    for target in ("far", FABRIC):
        done = ioplan("run", plan, "--lab", lab, "--target", target)
        assert "the backend 'spdk' cannot run here" in done.err
        words = ("--backend", "io_uring", "--target", target)
        done = ioplan("run", plan, "--lab", lab, *words)
        assert "is an address that the backend 'io_uring' does not have" in done.err
        assert "add --backend spdk" in done.err
    lab.write_text(f'backend = "sim"\n{lab.read_text()}')
    assert " spdk " not in ioplan("lab", "check", "--lab", lab).out
