"""What a lab sets on a host, and what is put back: on made-up trees of /sys."""

import json
import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command import ioplan, last_records, plan_file, succeed
from killing import Forked, real_time_s
from made_machine import CPU, DISK, nvme, put
from refused import refused

from ioplan import LabFault
from ioplan.core.error_kinds import HostFault
from ioplan.records.setup import prepared_texts
from ioplan.runner import (
    Disk,
    HostError,
    HostSettings,
    Tree,
    disk_of,
    prepared_host,
    read_lab,
    restore,
)
from ioplan.runner.host import prepared as module
from ioplan.runner.host.ledger import KNOWN, Holder, ledger_path, opened_ledger, write
from ioplan.runner.host.prepared import Wanted, wanted_settings
from targets import MIB, loop_device, needs_root, sparse, zram

ALL = HostSettings(
    governor="performance",
    turbo=False,
    idle_latency_us=10,
    scheduler="kyber",
    nomerges=2,
    irq_affinity="2-3",
)
QUEUE = "sys/block/nvme0n1/queue"
BEFORE = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave",
    f"{CPU}/cpufreq/policy1/scaling_governor": "schedutil",
    f"{CPU}/intel_pstate/no_turbo": "0",
    f"{CPU}/cpu0/cpuidle/state0/disable": "0",
    f"{CPU}/cpu0/cpuidle/state1/disable": "0",
    f"{QUEUE}/scheduler": "none",
    f"{QUEUE}/nomerges": "0",
    "proc/irq/9/smp_affinity_list": "4",
    "proc/irq/40/smp_affinity_list": "0-3",
}
SET = ("performance", "performance", "1", "0", "1", "kyber", "2", "2,3", "2,3")


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def tree(tmp_path):
    """A machine that has everything."""
    root = tmp_path / "root"
    nvme(root)
    (root / "sys/block").mkdir(parents=True)
    (root / "sys/block/nvme0n1").symlink_to(root / DISK)
    states = {"POLL": 0, "C6": 133}
    for number, (name, latency_us) in enumerate(states.items()):
        folder = f"{CPU}/cpu0/cpuidle/state{number}"
        put(root, **{f"{folder}/name": name, f"{folder}/latency": latency_us})
    put(root, **BEFORE)
    return Tree(root)


def now(tree):
    return {name: tree.text(name) for name in BEFORE}


def prepared(tree, settings=ALL, session="s", **more):
    disk = Disk(tree.path(DISK), is_target=True)
    note = more.pop("note", pytest.fail)
    return prepared_host(session, settings, more.pop("disk", disk), note, tree)


@pytest.mark.promise("lab_file.restored")
def test_all_is_set_recorded_and_put_back(tree):
    with prepared(tree) as record:
        assert tuple(now(tree).values()) == SET
        assert record == {
            "governor": {"before": "powersave, schedutil", "set": "performance"},
            "turbo": {"before": "0", "set": "1"},
            "idle_latency_us": {"before": "0", "set": "1", "of": "C6"},
            "scheduler": {"before": "none", "set": "kyber"},
            "nomerges": {"before": "0", "set": "2"},
            "irq_affinity": {"before": "4, 0,1,2,3", "set": "2,3"},
        }
    assert now(tree) == BEFORE | {"proc/irq/40/smp_affinity_list": "0,1,2,3"}
    first, _, third, *_ = prepared_texts({"prepared": record})
    assert first == "governor performance (was powersave, schedutil)"
    assert third == "idle_latency_us of C6 1 (was 0)"
    assert not list(prepared_texts({"prepared": {"governor": 3}}))


def test_what_was_there_is_on_the_disk_before_anything_is_set(tree, monkeypatch):
    def seen(tree, name, text):
        said = ledger_path().read_text()
        assert all(name in said for name in BEFORE if "state0" not in name)
        write(tree, name, text)

    monkeypatch.setattr(module, "write", seen)
    with prepared(tree):
        assert tuple(now(tree).values()) == SET


@pytest.mark.promise("lab_file.restored")
def test_a_session_that_fails_puts_back_too(tree):
    with pytest.raises(KeyboardInterrupt), prepared(tree):
        raise KeyboardInterrupt
    assert now(tree)[f"{QUEUE}/scheduler"] == "none"


def test_what_others_changed_meanwhile_stays(tree):
    notes: list[str] = []
    governor = f"{CPU}/cpufreq/policy0/scaling_governor"
    with prepared(tree, note=notes.append):
        put(tree.root, **{governor: "ondemand"})
    assert now(tree)[governor] == "ondemand"
    assert now(tree)[f"{QUEUE}/nomerges"] == "0"
    (note,) = notes
    assert governor in note and "ondemand, which was set by someone else" in note


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_of_two_sessions_the_last_puts_back(tree, first_ends_first):
    one, other = (prepared(tree, session=name) for name in ("one", "other"))
    assert one.__enter__() == other.__enter__(), "both tell what was there before both"
    first, last = (one, other) if first_ends_first else (other, one)
    first.__exit__(None, None, None)
    assert tuple(now(tree).values()) == SET
    last.__exit__(None, None, None)
    assert now(tree)[f"{CPU}/intel_pstate/no_turbo"] == "0"
    assert not opened_settings()


def opened_settings():
    with opened_ledger() as ledger:
        return ledger.settings


def test_two_sessions_that_want_different_things(tree):
    with prepared(tree, HostSettings(nomerges=1), session="one"):
        said = r"prepare.nomerges: session one has set .* to 1, and this session requires 2"
        with refused(HostFault.HOST_CONFLICT, said), prepared(tree):
            pytest.fail("not reached")
        assert now(tree)[f"{CPU}/cpufreq/policy0/scaling_governor"] == "powersave"
    assert now(tree) == BEFORE


def killed(tree, settings=ALL):
    """Leave what a session that was killed leaves: the ledger, and what it has set."""
    gone = Holder(session="killed", pid=1, started="never")
    found = wanted_settings(settings, Disk(tree.path(DISK), is_target=True), tree)
    module._take(gone, [w for w in found if isinstance(w, Wanted)], tree, pytest.fail)


@pytest.mark.promise("lab_file.after_crash")
def test_what_a_killed_session_left_is_put_back(tree):
    notes: list[str] = []
    killed(tree)
    restore(notes.append, tree)
    assert now(tree)[f"{CPU}/cpu0/cpuidle/state1/disable"] == "0"
    assert now(tree)[f"{QUEUE}/scheduler"] == "none"
    assert f"/{QUEUE}/nomerges is 0 again; left by a killed session: 2" in notes
    restore(pytest.fail, tree)


def test_the_next_session_puts_back_what_it_does_not_want(tree):
    killed(tree)
    notes: list[str] = []
    with prepared(tree, HostSettings(nomerges=2), note=notes.append) as record:
        assert record == {"nomerges": {"before": "0", "set": "2"}}
        assert now(tree)[f"{CPU}/intel_pstate/no_turbo"] == "0" and notes
    assert now(tree)[f"{QUEUE}/nomerges"] == "0"


def test_a_resumed_session_without_settings_puts_back(tree):
    killed(tree)
    with prepared(tree, None, note=[].append):
        assert now(tree)[f"{QUEUE}/nomerges"] == "0"


def test_a_restart_of_the_machine_has_forgotten_all(tree):
    killed(tree)
    text = ledger_path().read_text()
    ledger_path().write_text(text.replace('"boot": "', '"boot": "another-'))
    restore(pytest.fail, tree)
    assert tuple(now(tree).values()) == SET, "whatever is set now is somebody's"


def test_a_damaged_ledger_is_no_guess(tree):
    killed(tree)
    ledger_path().write_text("{")
    with refused(HostFault.HOST_LEDGER, "manually, and remove it"):
        restore(pytest.fail, tree)


REFUSED = {
    "governor": (f"{CPU}/cpufreq", "there is no cpufreq"),
    "turbo": (f"{CPU}/intel_pstate", "the CPU driver has no switch"),
    "idle_latency_us": (f"{CPU}/cpu0/cpuidle", "no cpuidle"),
    "scheduler": (f"{QUEUE}/scheduler", "has no /sys/block"),
    "irq_affinity": (f"{DISK}/../../../msi_irqs", "no separate interrupts"),
}


@pytest.mark.parametrize("key", REFUSED)
@pytest.mark.promise("lab_file.refused_first")
def test_a_host_without_it_is_refused_before_anything_is_set(key, tree):
    gone, said = REFUSED[key]
    tree.path(gone).resolve().rename(tree.path("gone"))
    with refused(HostFault.HOST_SETTING, f"prepare.{key}: .*{said}.*remove it"):
        prepared(tree).__enter__()
    left = {name: text for name, text in now(tree).items() if text}
    assert left == {name: BEFORE[name] for name in left}


@pytest.mark.promise("lab_file.refused_first")
def test_a_value_that_the_kernel_refuses_undoes_the_others(tree, monkeypatch):
    def kernel(tree, name, text):
        if name.startswith("proc/irq/40"):
            raise OSError(5, "Input/output error")
        write(tree, name, text)

    monkeypatch.setattr(module, "write", kernel)
    with refused(HostFault.HOST_SETTING, "irq_affinity: .*Input/output error.*binds"):
        prepared(tree).__enter__()
    assert now(tree) == BEFORE and not opened_settings()


def test_a_file_as_the_target_has_no_queue(tree):
    below = Disk(tree.path(DISK), is_target=False)
    for disk in (None, below):
        with prepared(
            tree, HostSettings(scheduler="none", nomerges=2), disk=disk
        ) as it:
            why = {"not_set": "the target is not a block device of the kernel"}
            assert it == {"scheduler": why, "nomerges": why}
    assert now(tree) == BEFORE


@pytest.mark.parametrize(
    "name",
    [
        "etc/passwd",
        "sys/block/nvme0n1/queue/../../../../etc/passwd",
        "sys/block/../queue/scheduler",
        "sys/block/nvme0n1/queue/read_ahead_kb",
        "sys/block/nvme0n1/queue/iosched/../scheduler",
        f"{CPU}/cpu0/online",
        "proc/sysrq-trigger",
        "proc/irq/9/smp_affinity_list\n",
    ],
)
def test_no_other_file_is_ever_written(name, tree):
    """Not even where the ledger says so."""
    assert not KNOWN.fullmatch(name)
    with pytest.raises(HostError, match="not restored"):
        write(tree, name, "x")
    killed(tree)
    put(tree.root, victim="kept")
    with opened_ledger() as ledger:
        kept = next(iter(ledger.settings.values()))
        ledger.settings = {"victim": kept.model_copy(update={"set": "kept"})}
        ledger.save()
    notes: list[str] = []
    restore(notes.append, tree)
    assert tree.text("victim") == "kept" and "not restored" in notes[0]


def test_a_link_is_not_followed(tree, tmp_path):
    other = tmp_path / "other"
    other.write_text("0")
    file = tree.path(f"{QUEUE}/nomerges")
    file.unlink()
    file.symlink_to(other)
    with pytest.raises(HostError, match="nomerges"):
        prepared(tree, HostSettings(nomerges=2)).__enter__()
    assert other.read_text() == "0"


def test_a_key_that_there_is_not_is_named(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text('[prepare]\ngovenor = "performance"\n')
    with refused(LabFault.LAB_INVALID, "lab.toml:2: prepare.govenor: .*'governor'"):
        read_lab(path)


# queues of real loop and zram devices

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 100ms }'
PREPARE = '[prepare]\nscheduler = "none"\nnomerges = 2\n'
QUEUE_SET = {"scheduler": "none", "nomerges": "2"}
QUEUE_BEFORE = {
    "scheduler": "mq-deadline",
    "nomerges": "1",
    "iosched/read_expire": "120",
}
NOBODY = 65534


@pytest.fixture
def device(tmp_path):
    """A loop device with a scheduler of its own, and that with a value of its own."""
    with loop_device(sparse(tmp_path / "image", 16 * MIB)) as path:
        found = {**queue_now(path), "nomerges": file(path, "nomerges").read_text()}
        for name, text in QUEUE_BEFORE.items():
            file(path, name).write_text(text)
        yield path
        for name in QUEUE_SET:  # a loop device keeps them for whoever has it next
            file(path, name).write_text(found[name])


def file(device, name):
    return Path("/sys/block", device.name, "queue", name)


def queue_now(device):
    texts = {name: file(device, name) for name in QUEUE_BEFORE}
    found = {name: at.read_text() for name, at in texts.items() if at.exists()}
    found["scheduler"] = found["scheduler"].partition("[")[2].partition("]")[0]
    return {name: text.strip() for name, text in found.items()}


@needs_root
@pytest.mark.long
@pytest.mark.promise("lab_file.after_crash")
def test_a_killed_session_is_put_back(device, tmp_path, store_path):
    """By `lab restore`, by `resume`, and as every session ends; the record says all."""
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, READS)
    lab.write_text(PREPARE)
    words = "run", plan, "--target", device, "--lab", lab, "--json"
    for command in (("lab", "restore"), ("resume", "last")):
        killed = Forked(tmp_path / "out", *words, "--store", store_path)
        assert killed.begun()
        killed.kill_after(0, real_time_s)
        assert queue_now(device) == QUEUE_SET, "this is what a kill leaves"
        done = succeed(*command)
        assert queue_now(device) == QUEUE_BEFORE, done.out + done.err
    (record,) = last_records(store_path)
    assert record.host["prepared"] == {
        "scheduler": {"before": "mq-deadline", "set": "none"},
        "nomerges": {"before": "1", "set": "2"},
    }
    assert record.host["target"]["scheduler"] == "none", "looked at while prepared"


@needs_root
def test_a_scheduler_that_the_kernel_does_not_have(device, tmp_path, store_path):
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, READS)
    lab.write_text('[prepare]\nnomerges = 2\nscheduler = "elevator"\n')
    done = ioplan("run", plan, "--target", device, "--lab", lab)
    assert done.code == 2 and queue_now(device) == QUEUE_BEFORE
    (error,) = done.err.splitlines()
    assert error.startswith("error: prepare.scheduler: the kernel refuses 'elevator'")
    assert "it has: none [mq-deadline]" in error


@needs_root
def test_another_user_is_refused_once(device, tmp_path):
    reader, writer = os.pipe()
    with TemporaryDirectory() as state:
        os.chown(state, NOBODY, NOBODY)
        _prepare_as_nobody(device, state, writer)
    kind, text = json.loads(os.read(reader, 4096))
    os.close(reader)
    os.close(writer)
    assert kind == "host-permission"
    assert "run ioplan as root, or remove [prepare]" in text
    assert queue_now(device) == QUEUE_BEFORE


def _prepare_as_nobody(device, state, writer):
    if not (pid := os.fork()):
        os.environ["XDG_STATE_HOME"] = state
        os.setresuid(NOBODY, NOBODY, NOBODY)
        settings, disk = HostSettings(nomerges=2), disk_of(Tree(), str(device))
        said = "not refused"
        try:
            prepared_host("s", settings, disk, print).__enter__()
        except HostError as error:
            said = json.dumps([error.kind, str(error)])
        os.write(writer, said.encode())
        os._exit(0)
    os.waitpid(pid, 0)


@needs_root
def test_zram_merges():
    with zram(16 * MIB) as device:
        disk = Disk(Path("/sys/block", device.name), is_target=True)
        merges = disk.folder / "queue/nomerges"
        merges.write_text("1")
        with prepared_host("z", HostSettings(nomerges=2), disk, pytest.fail) as found:
            assert found == {"nomerges": {"before": "1", "set": "2"}}
            assert merges.read_text() == "2\n"
        assert merges.read_text() == "1\n"
        _check_that_another_is_killed(disk, merges)
        with pytest.raises(HostError, match=r"no /sys/block/.*/scheduler"):
            prepared_host("z", HostSettings(scheduler="none"), disk, print).__enter__()


def _check_that_another_is_killed(disk, merges):
    """A session that goes on keeps its settings, and puts back what was before both."""
    settings, (reader, writer) = HostSettings(nomerges=2), os.pipe()
    if not (pid := os.fork()):
        with prepared_host("killed", settings, disk, print):
            os.write(writer, b"x")
            signal.pause()
    assert os.read(reader, 1) == b"x" and merges.read_text() == "2\n"
    with prepared_host("lives", settings, disk, pytest.fail) as found:
        assert found == {"nomerges": {"before": "1", "set": "2"}}
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        restore(pytest.fail)
        assert merges.read_text() == "2\n", "the other one wants it"
    assert merges.read_text() == "1\n"
    os.close(reader)
    os.close(writer)
