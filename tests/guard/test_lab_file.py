"""The lab file: what is wrong with one, and what another host's entries are here."""

import paths
import pytest
from command import ioplan, plan_file
from refused import refused

from ioplan import LabFault
from ioplan.runner import LabError, read_lab
from targets import loop_device, needs_root

EXAMPLE = paths.ROOT / "examples/lab/lab.toml"


def lab_file(folder, text):
    path = folder / "lab.toml"
    path.write_text(text)
    return path


def test_the_example_is_right():
    done = ioplan("lab", "check", "--lab", EXAMPLE)
    assert done.code == 0, done.err
    assert "group all-gen5: 1 targets" in done.out
    assert "h1, h2" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines()[:-1])


def test_all_that_is_wrong_is_said_with_its_line(tmp_path):
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


def test_commands_and_shared_targets_are_checked(tmp_path):
    text = """power = { comand = ["meter"] }
[hosts.h1]
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
        "1: power.command: Field required",
        "1: power.comand: there is no key 'comand', did you mean "
        "'command'?; known: command",
    ]


def test_a_shared_target_is_on_all_its_hosts(tmp_path):
    shared = '[targets.s]\nserial = "1"\nhosts = ["h1", "h2"]\n'
    power = 'power = { command = ["meter"] }\n'
    lab = read_lab(lab_file(tmp_path, f"[hosts.h1]\n[hosts.h2]\n{shared}{power}"))
    assert not lab.here
    assert lab.meter_of(lab.targets["s"]) == ("meter",)
    done = ioplan("lab", "check", "--lab", tmp_path / "lab.toml")
    assert "h1, h2" in done.out
    lost = '[hosts.h1]\n[targets.s]\nserial = "1"\nhosts = ["h1", "rack"]\n'
    said = "4: targets.s.hosts: the lab has no host 'rack'"
    with refused(LabFault.LAB_INVALID, said):
        read_lab(lab_file(tmp_path, lost))


def test_check_needs_a_file(monkeypatch, tmp_path):
    monkeypatch.delenv("IOPLAN_LAB", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "there is no lab file" in ioplan("lab", "check").err


@needs_root
def test_what_is_said_of_another_host_does_not_hold_here(tmp_path):
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


FABRIC = "nvme:tcp:192.0.2.1:4420:nqn.2016-06.io.spdk:cnode1"


def test_what_does_the_io_of_an_address_is_known(tmp_path, monkeypatch):
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
