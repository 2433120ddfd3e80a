"""The command line: what it prints, what it exits with, what it keeps."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed
from paths import ROOT

pytestmark = pytest.mark.usefixtures("store_path")

READS = """
plan "Reads"
param run_time = 2s
test "Sweep" {
  run    random 4KiB 100/0 for run_time
  vary   qd in 1..8 doubling
  expect p99 < 100ms
}
"""
SIM = ("--backend", "sim", "--create", "1GiB")


@pytest.fixture
def reads(tmp_path):
    return plan_file(tmp_path, READS)


def narrow(done):
    """Whether all tables fit 80 columns."""
    return all(len(line) <= 80 for line in done.out.splitlines())


@pytest.mark.promise("exit_codes.held")
def test_run_ends_with_bars_what_to_know_and_where_all_figures_are(reads, store_path):
    """A bar and a value for each headline, and at most five lines."""
    done = succeed("run", reads, *SIM)
    _, end = done.out.split("Headlines, SIMULATED ")
    title, *lines = [line for line in end.splitlines() if line.strip()][1:]
    bars = [line for line in lines if "█" in line]
    assert title == "Sweep" and 1 <= len(bars) <= 4
    assert all(re.search(r"█ +[\d.]+( µs|k? IOPS)", bar) for bar in bars), bars
    known, where = lines[len(bars) : -1], lines[-1]
    assert "✓ all 4 expectations passed" in known and len(known) <= 5
    hint = shlex.split(where.removeprefix("4 runs kept: ioplan "))
    shown = succeed(*hint).out
    assert "passed in 4 of 4 cells: expect p99 < 100ms" in shown
    assert "IOPS by queue depth" in shown and "┤" in shown
    assert max(map(len, end.splitlines())) <= 80


def test_show_has_a_screen_of_charts_and_headlines(reads):
    """Of 80 columns and 50 lines, with the first chart of a test; not its table."""
    succeed("run", reads, *SIM, "--quiet")
    done = succeed("show")
    assert "\nSweep: Latency against load\n" in done.out and " p99.9 " not in done.out
    assert len(done.out.splitlines()) <= 50 and narrow(done)
    assert done.out.splitlines()[-1].startswith("all figures: ioplan show 2")


def test_json_lines_are_json_and_nothing_else(reads):
    done = ioplan("run", reads, *SIM, "--json")
    kinds = [line["type"] for line in done.lines]
    assert kinds[0] == "session" and kinds[-1] == "end"
    assert kinds.count("step") == kinds.count("record") == kinds.count("verdict") == 4
    assert kinds.count("progress") >= 4 * 2
    assert [r["record"]["asked"]["cell"] for r in done.of("record")] == [
        {"qd": qd} for qd in ("1", "2", "4", "8")
    ]


def test_quiet_says_nothing(reads):
    done = ioplan("run", reads, *SIM, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert "Reads" in ioplan("ls").out


@pytest.mark.promise("exit_codes.failed")
def test_a_failed_expectation_exits_with_1(tmp_path):
    text = READS.replace("p99 < 100ms", "p99 < 1us when qd == 4")
    done = ioplan("run", plan_file(tmp_path, text), *SIM)
    assert done.code == 1
    assert "failed: expect p99 < 1us when qd == 4 [qd=4]" in done.out


@pytest.mark.promise("exit_codes.failed")
def test_an_undecided_expectation_is_not_held(tmp_path):
    text = READS.replace("p99 <", "p99.999 <")
    done = ioplan("run", plan_file(tmp_path, text), *SIM, "--scale-time", "0.01")
    assert done.code == 1
    assert "needs 1,000,000 I/Os" in done.out.replace("\n", " ")


def test_baseline(tmp_path):
    text = READS.replace("p99 < 100ms", "iops >= 95% of baseline")
    path = plan_file(tmp_path, text)
    first = succeed("run", path, *SIM, "--json")
    assert {v["outcome"] for v in first.of("verdict")} == {"no baseline"}
    second = succeed("run", path, *SIM, "--json", "--baseline", "last")
    assert {v["outcome"] for v in second.of("verdict")} == {"held"}
    assert all(
        v["limit"] == pytest.approx(v["actual"] * 0.95) for v in second.of("verdict")
    )


def test_scale_time_multiplies_every_duration(reads):
    done = ioplan("run", reads, *SIM, "--json", "--scale-time", "0.25")
    assert {r["record"]["run_s"] for r in done.of("record")} == {0.5}
    whole = json.loads(ioplan("plan", reads, "--json").out)
    part = json.loads(ioplan("plan", reads, "--json", "--scale-time", "0.25").out)
    part_s, whole_s = (one["total"]["at_least"]["run_s"] for one in (part, whole))
    assert part_s == whole_s / 4 == 2.0


def test_set_changes_a_param(reads):
    done = ioplan("run", reads, *SIM, "--json", "--set", "run_time=100ms")
    assert {r["record"]["run_s"] for r in done.of("record")} == {0.1}


def test_plan_fits_80_columns_and_adds_up(tmp_path):
    done = ioplan("plan", ROOT / "examples/review.ioplan", "--capacity", "64GiB")
    assert done.code == 0 and narrow(done)
    listed = json.loads(ioplan("plan", ROOT / "examples/review.ioplan", "--json").out)
    singles = [s["estimated_s"] * s.get("times_at_most", 1) for s in listed["steps"]]
    most = listed["total"]["assumed"]["at_most"]
    assert sum(singles) == pytest.approx(most["run_s"], rel=1e-6)


def test_plan_takes_the_capacity_of_a_target(reads, tmp_path):
    target = tmp_path / "t.bin"
    target.write_bytes(bytes(1 << 20))
    listed = json.loads(ioplan("plan", reads, "--json", "--target", target).out)
    assert listed["total"]["capacity_bytes"] == 1 << 20
    assert ioplan("plan", reads, "--target", target, "--capacity", "1GiB").code == 2


@pytest.mark.promise("exit_codes.usage", "first_minutes.check")
def test_check_finds_all_errors(tmp_path):
    text = READS.replace("100/0", "100/10").replace("doubling", "dubling")
    path = plan_file(tmp_path, text)
    done = ioplan("check", path)
    assert done.code == 2 and done.out == ""
    assert "the mix 100/10 adds up to 110 %" in done.err
    assert "did you mean 'doubling'?" in done.err
    found = json.loads(ioplan("check", path, "--format", "json").out)
    assert [(d["line"], d["severity"]) for d in found] == [(5, "error"), (6, "error")]
    assert ioplan("check", path, "--format", "xml").code == 2


def test_fmt_leaves_a_broken_plan_alone(tmp_path):
    path = plan_file(tmp_path, "test {")
    assert ioplan("fmt", path).code == 2
    assert path.read_text() == "test {"


def test_store_option_beats_environment_beats_xdg(reads, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("IOPLAN_STORE", raising=False)
    ioplan("run", reads, *SIM, "--quiet")
    assert (tmp_path / "xdg/ioplan/results.db").exists()
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "env.db"))
    ioplan("run", reads, *SIM, "--quiet")
    assert (tmp_path / "env.db").exists()
    ioplan("run", reads, *SIM, "--quiet", "--store", tmp_path / "option.db")
    assert (
        len(ioplan("ls", "--format", "jsonl", "--store", tmp_path / "option.db").lines)
        == 1
    )


@pytest.mark.long
def test_backends_shows_the_version_and_the_driver_named():
    def streams(*words):
        shown = ioplan("backends", *words).out.splitlines()
        (row,) = (line for line in shown if "several streams" in line)
        return row.split()[-1]

    assert streams("--backend", "spdk", "--option", "driver=bdevperf") == "no"
    assert streams("--backend", "spdk") == "exact"  # which chooses
    assert streams("--option", "driver=fio") == "exact"
    done = ioplan("backends", "--option", "driver=fio").out
    assert "spdk" in done and "io_uring" not in done and "sim" not in done
    fio = ("--backend", "fio", "--option")
    deep, flat = (
        ioplan("backends", *fio, f"engine={e}").out for e in ("io_uring", "psync")
    )
    assert flat.count(" no ") > deep.count(" no ")
    every = ioplan("backends")
    assert "io_uring" in every.out and "sim" in every.out and narrow(every)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--option", "drvier=fio"), "no backend takes these options"),
        (("--backend", "fio", "--option", "driver=fio"), "no option 'driver'"),
        (("--backend", "oif"), "no backend 'oif'"),
    ],
)
def test_options_that_no_backend_takes(words, told):
    done = ioplan("backends", *words)
    assert told in done.err + done.out


BAD_CALLS = [
    ((), "no target: add --target"),
    (("--target", "nope.bin"), "there is no target 'nope.bin'"),
    (("--target", "x/s.bin", "--create", "1MiB"), "there is no folder 'x'"),
    (("--target", "/dev/null"), "is not a file or block device"),
    (("--target", "/tmp"), "is not a file or block device"),
    (("--target", "empty.bin"), "smaller than a block of 512 B"),
    (("--target", "s.bin", "--create", "1000B"), "write for example 4KiB"),
    (("--target", "s.bin", "--create", "4"), "takes a size"),
    (("--target", "s.bin", "--create", "2KiBB"), "unknown unit"),
    (("--target", "s.bin", "--create", "900TiB"), "do not fit"),
    (("--target", "other.bin", "--create", "1MiB"), "exists with 8192 B"),
    (("--backend", "simm"), "did you mean 'sim'?"),
    (("--backend", "sim", "--set", "run_time"), "--set takes NAME=VALUE"),
    (("--backend", "sim", "--set", "run_tim=1s"), "did you mean 'run_time'?"),
    (("--backend", "sim", "--set", "run_time=4KiB"), "is a time, not a size"),
    (("--backend", "sim", "--set", "run_time=1s", "--set", "run_time=2s"), "twice"),
    (("--backend", "sim", "--scale-time", "0"), "--scale-time must be a number"),
    (("--backend", "sim", "--baseline", "x"), "no session"),
    (("--backend", "sim", "--quiet", "--json"), "not both"),
    (("--backend", "sim", "--store", "/dev/null/x.db"), "/dev/null/x.db"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS)
@pytest.mark.promise("exit_codes.usage")
def test_bad_calls_say_what_to_do_and_exit_with_2(
    arguments, message, reads, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("empty.bin").touch()
    Path("other.bin").write_bytes(bytes(8192))
    done = ioplan("run", reads, *arguments)
    assert done.code == 2
    assert [line["kind"] for line in done.lines] == ["usage"] * ("--json" in arguments)
    assert message in done.err and done.err.startswith("error: ")
    assert "Traceback" not in done.err
    assert Path("other.bin").read_bytes() == bytes(8192)


def test_a_plan_that_is_no_text(tmp_path):
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is it a plan?" in ioplan("check", path).err
    assert ioplan("check", tmp_path / "none").code == 2


@pytest.mark.slow
def test_ctrl_c_while_it_is_being_read(tmp_path, reads):
    """One line and the exit code of a stop, whatever is being imported."""
    reached = tmp_path / "reached"
    slow = (
        f"import pathlib, time; pathlib.Path({str(reached)!r}).touch(); time.sleep(600)"
    )
    (tmp_path / "decimal.py").write_text(slow)
    words = (sys.executable, "-m", "ioplan.cli", "check", reads)
    path = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        words, env=path, stderr=subprocess.PIPE, text=True
    ) as process:
        while not reached.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.communicate()[1] == "interrupted\n"
    assert process.returncode == 130


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_region_outside_of_a_stated_size_is_refused(words, tmp_path):
    text = 'test "T" { run random 64KiB 70/30, region 1GiB..2GiB for 2s }'
    plan = plan_file(tmp_path, text)
    done = ioplan("plan", plan, "--capacity", "256MiB", *words)
    assert done.code == 2 and "is not possible at this capacity" in done.err
    assert "its region ends at 2GiB, and the target at 256MiB" in done.err
    assert ioplan("plan", plan, "--capacity", "2GiB", *words).code == 0
    assert ioplan("plan", plan, *words).code == 0, "nobody said how large it is"
    beyond = plan_file(tmp_path, text.replace("2GiB", "2TiB"))
    done = ioplan("plan", beyond, "--capacity", "1TB", *words)
    assert done.code == 2, "even if it is what is assumed otherwise"
