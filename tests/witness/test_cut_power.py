"""`cut power at …`: a drive loses its power within a run, and comes back."""

import json
import shlex
import sys

import pytest
from command import ioplan, plan_file, refuse

from ioplan_witness import read_log

pytestmark = pytest.mark.slow

PLAN = """
workload wal = random 4KiB 0/100, qd 4, region 0%..50%, flush every 16
test "Cuts" {
  repeat 2 {
    run wal, verify for 1min, cut power at 100ms..300ms
    run sequential 64KiB 100/0, region 0%..50%, verify, 1 pass as after
  }
  expect after.lost_flushed == 0
}
"""
SHORT = PLAN.replace("1min", "5s")
"""For runs that nothing ends before their time."""
PROGRAM = [sys.executable, "-m", "ioplan.cli"]
NOTHING = ["true"]


def told(command, one):
    return [*PROGRAM, "device", command, str(one.folder)]


def shell(text):
    return ["sh", "-c", text]


def lab_of(one, folder, **control):
    """A lab file that knows the device, and what cuts its power."""
    commands = {"off": told("off", one), "on": told("on", one), **control}
    lines = (f"{key} = {json.dumps(value)}" for key, value in commands.items())
    entry = f'[targets.toy]\npath = "{one.disk}"\nwritable = true\n'
    lab = folder / "lab.toml"
    lab.write_text(entry + "[targets.toy.power_control]\n" + "\n".join(lines) + "\n")
    return lab


def cut(one, folder, text=PLAN, *more, **control):
    lab = lab_of(one, folder, **control)
    words = ("--lab", lab, "--target", "toy", "--overwrite", one.disk, "--json")
    plan = plan_file(folder, text)
    return ioplan("run", plan, *words, "--store", folder / "store", *more)


@pytest.mark.long
@pytest.mark.promise("durability.not_accused")
def test_a_drive_that_keeps_its_promise_is_not_accused(device, tmp_path):
    done = cut(device(cache={"mode": "volatile"}), tmp_path)
    assert done.code == 0, done.err
    first, after, second, _ = done.records
    assert after["power_cut"] is None
    for one in (first, second):
        assert 0.1 <= one["power_cut"]["at_s"] <= one["run_s"] + 0.1, one
    assert first["power_cut"]["off_s"] > 0 and first["run_s"] < 60
    assert first["status"] == "ok" and first["directions"]["write"]["ios"] > 100
    assert not any("failed" in text for text in first["warnings"])
    found = after["backend"]["facts"]["verify"]
    assert found["kept"] > 0 and found["lost_flushed"] == 0


@pytest.mark.long
def test_the_same_plan_draws_the_same_moments(device, tmp_path):
    """On a busy machine a cut may be late."""
    one, text = device(cache={"mode": "volatile"}), PLAN.replace("300ms", "4s")
    done = [cut(one, tmp_path, text) for _ in range(2)]
    first, again = ([r["power_cut"]["at_s"] for r in d.records[::2]] for d in done)
    assert first == pytest.approx(again, abs=0.3)
    assert abs(first[0] - first[1]) > 0.01


@pytest.mark.long
@pytest.mark.parametrize("mode", ["volatile", "write-through"])
def test_what_was_discarded_may_come_back(mode, device, tmp_path):
    """With a stamp of this recording, and a generation that says nothing any more."""
    text = PLAN.replace("0/100,", "0/100, trim 20%,")
    done = cut(device(cache={"mode": mode}), tmp_path, text)
    for after in done.records[1::2]:
        found = after["backend"]["facts"]["verify"]
        assert (after["status"], found["foreign"]) == ("ok", 0), found
        assert found["kept"] > 0 and found["promised_by_flush"] > 0


FOLDERS = """
for one in "$XDG_STATE_HOME"/ioplan/stamps/*; do rm "$one"; mkdir "$one"; done"""
"""No files of stamps can be opened any more."""
HANGS = "sleep did not end within 9 s"
FAULTS = {
    "another thing is cut": ({"off": NOTHING}, "cuts the power of something else"),
    "the cut takes longer than the run": (
        {"off": shell("sleep 8")},
        "the run ended while power_control.off was still under way",
    ),
    "off fails": ({"off": shell("echo no such socket >&2; exit 3")}, "no such socket"),
    "off is no program": ({"off": ["/nowhere/pdu"]}, "/nowhere/pdu cannot be started"),
    "off hangs": ({"off": ["sleep", "600"], "timeout": "9s"}, HANGS),
    "on hangs": ({"on": ["sleep", "600"], "timeout": "9s"}, HANGS),
    "on fails": ({"on": shell("echo relay stuck >&2; exit 1")}, "relay stuck"),
    "the cut cannot be noted": ({}, "the cut cannot be noted in"),
    "it stays away": ({"on": NOTHING, "back": "500ms"}, "cannot be opened"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_a_cut_that_goes_wrong_has_a_clear_end(name, device, tmp_path):
    control, says = FAULTS[name]
    one = device(cache={"mode": "volatile"})
    text = SHORT if "off" in control else PLAN
    if name == "the cut cannot be noted":
        control = {"off": shell(f"{shlex.join(told('off', one))} && {FOLDERS}")}
    done = cut(one, tmp_path, text, **control)
    assert done.code not in (0, 2) and says in done.err, done.err
    (record,) = done.records
    assert record["status"] == "failed" and says in record["message"]
    assert record["directions"]["write"]["ios"] > 0, "what was measured is kept"


@pytest.mark.long
@pytest.mark.promise("durability.same_drive")
def test_what_comes_back_smaller_is_another_device(device, tmp_path):
    one = device(cache={"mode": "volatile"})
    script = tmp_path / "small.toml"
    script.write_text('size = "2MiB"\n')
    start = " ".join([*PROGRAM, "device", "start", str(script), "-o", str(one.folder)])
    stop = " ".join(told("stop", one))
    done = cut(one, tmp_path, on=shell(f"{stop} && {start}"))
    assert done.code not in (0, 2) and "it had 4.19 MB, and has 2.10 MB" in done.err
    assert done.records[0]["cause"] == "target-lost"


@pytest.mark.long
@pytest.mark.promise("durability.same_drive")
def test_another_drive_in_its_place_is_not_written_to(device, tmp_path):
    """The lab file names a link, as in /dev/disk/by-path; another drive is there now."""
    one, other = (device(cache={"mode": "volatile"}) for _ in range(2))
    link = tmp_path / "link"
    link.symlink_to(one.disk)
    moves = ["ln", "-sfn", str(other.disk), str(link)]
    lab = lab_of(one, tmp_path, on=moves, back="1s")
    lab.write_text(lab.read_text().replace(f'path = "{one.disk}"', f'path = "{link}"'))
    words = ("--lab", lab, "--target", "toy", "--overwrite", one.disk, "--json")
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("run", plan, *words, "--store", tmp_path / "store")
    assert done.code not in (0, 2) and "another device is in the target's" in done.err
    assert str(other.disk) in done.err and "--overwrite" not in done.err
    assert done.records[0]["directions"]["write"]["ios"] > 0
    other.tell("flush-log")
    assert not (read_log(other.log)["kind"] == 1).any(), "it has been written to"


@pytest.fixture
def untouched(device):
    """A device to which nothing is written."""
    one = device()
    yield one
    one.tell("flush-log")
    assert one.folder.is_mount()
    assert not (read_log(one.log)["kind"] == 1).any(), "it has been written to"


@pytest.mark.promise("durability.refused")
def test_without_consent_or_commands_nothing_begins(untouched, tmp_path):
    lab, plan = lab_of(untouched, tmp_path), plan_file(tmp_path, PLAN)
    words = ("run", plan, "--lab", lab, "--target", "toy")
    refuse("--overwrite", *words)
    lab.write_text(lab.read_text().partition("[targets.toy.power_control]")[0])
    refuse("nothing says how", *words, "--overwrite", untouched.disk)


@pytest.mark.promise("durability.refused")
def test_what_cannot_cut_power_says_so_before_it_makes_anything(tmp_path):
    plan, scratch = plan_file(tmp_path, PLAN), tmp_path / "scratch"
    create, says = ("--target", scratch, "--create", "16MiB"), "cuts the power of its"
    for words, said in (
        (("run", plan, *create), says),
        (("crosscheck", plan, "--backends", "io_uring,sim", *create), says),
        (("plan", plan, "--rehearse", "--capacity", "1GiB"), says),
        (("run", plan, "--backend", "sim", "--create", "64MiB"), "no power to cut"),
    ):
        refuse(said, *words)
        assert not scratch.exists()


def test_an_error_before_the_cut_is_none_of_the_cut(device, tmp_path):
    """It is told with the interval in which the power is cut as well."""
    fault = {"direction": "write", "error": "EIO", "nth": 20}
    one = device(cache={"mode": "volatile"}, fault=[fault])
    done = cut(one, tmp_path, SHORT)
    assert done.code == 3, done.err
    made = done.records[0]
    assert (made["status"], made["cause"]) == ("failed", "device-error")
    assert made["power_cut"], "the power was cut after it"


ROLLED = """
test "Dies" {
  repeat 2 {
    run random 16KiB 0/100, qd 8, flush every 16, region 0%..25%, verify for 6s,
        cut power at 300ms..900ms as writes
    run sequential 128KiB 100/0, qd 8, region 0%..25%, verify, 1 pass as after
  }
  expect after.lost_flushed == 0
}
"""


@pytest.mark.long_but_first
@pytest.mark.parametrize("mode", ["volatile", "write-through"])
def test_what_a_dead_drive_refuses_is_not_rolled_back(mode, device, tmp_path):
    """Only what it has acknowledged can be: at most what a flush each 16 writes lacks."""
    done = cut(device(cache={"mode": mode}), tmp_path, ROLLED)
    assert done.code == 0, done.err
    most = {"write-through": 0, "volatile": (16 + 2 * 8) * 32}[mode]
    for after in done.records[1::2]:
        found = after["backend"]["facts"]["verify"]
        assert found["rolled_back"] <= most and found["kept"] > 0, found


FLIP = """
import sys
with open(sys.argv[1], "r+b", buffering=0) as disk:
    for block in range(0, 256):
        block_bytes = disk.seek(block * 512) and 0 or bytearray(disk.read(512))
        if block_bytes[:8] == b"ioplanVB":
            block_bytes[300] ^= 4
            disk.seek(block * 512)
            disk.write(block_bytes)
            break
"""


def test_a_flipped_bit_of_a_durable_block_breaks_the_promise(device, tmp_path):
    one = device(cache={"mode": "write-through"})
    flip = shlex.join([sys.executable, "-c", FLIP, str(one.disk)])
    text = PLAN.replace("flush every 16", "fua").replace("lost_flushed", "lost_fua")
    done = cut(
        one, tmp_path, text, on=shell(f"{shlex.join(told('on', one))} && {flip}")
    )
    found = done.records[1]["backend"]["facts"]["verify"]
    assert (done.code, found["checksum"], found["torn"]) == (3, 1, 0), found
    assert "1 of 4096 blocks do not match their checksum" in done.err
    shown = " ".join(ioplan("show", "last", "--store", tmp_path / "store").out.split())
    assert "a promise was broken by 1 of 1 power cut" in shown, shown
