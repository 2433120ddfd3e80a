"""Hosts that run together: one run with one record, of all of them or of none.

A host is a folder with a lab file of its own, reached by `env` in place of ssh; at the
end of this file it is a network namespace with a real sshd. The target is a file that
both have, the drive a simulated one where only figures matter.
"""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command import plan_file, program, refuse
from fio_jobs import NEEDS_FIO
from hosts_together import IOPLAN, OWN, Together, written
from hour_ahead import hour_ahead
from lab_links import NEEDS_SSHD, host_links, ssh_served
from started import is_running

from ioplan.job import Result
from ioplan_io_uring import engine_path
from targets import MIB, loop_device, marked, sparse, wait_for

pytestmark = pytest.mark.slow
MS_NS = 1_000_000


@pytest.fixture
def hosts(tmp_path):
    return Together(tmp_path)


@pytest.fixture
def simulated(tmp_path):
    return Together(tmp_path, "sim")


# ---- figures

BOTH = """workload both {
  reader = random 4KiB 100/0, qd 2, on hosts h1, h2
  writer = sequential 64KiB 0/100, region 50%..100%, on hosts h2
}
precondition filled { purge write sequential 128KiB, qd 2, 1 pass }
test "T" { after filled run both for LONG, warmup 100ms }
"""


def parts_of(record):
    """What each host has written down by itself."""
    hosts: dict[str, Any] = record.backend.facts["hosts"]
    return {
        host: Result.model_validate_json(Path(facts["kept"]).read_text())
        for host, facts in hosts.items()
    }


def check_sums(record, detail):
    """Every bin and every count is the sum of what the hosts have."""
    own = parts_of(record)
    bins: Counter[tuple[str, str, int]] = Counter()
    ios: Counter[str] = Counter()
    for stream in (one for result in own.values() for one in result.streams):
        for direction, part in stream.directions.items():
            ios[stream.name] += part.ios
            for index, count in zip(part.bins[::2], part.bins[1::2], strict=True):
                bins[stream.name, direction, index] += count
    merged = {
        (one.stream, one.direction, index): count
        for one in detail.histograms
        for index, count in zip(one.bins[::2], one.bins[1::2], strict=True)
    }
    assert merged == dict(bins)
    assert {one.name: one.total.ios for one in record.streams} == dict(ios)
    assert sum(sum(point.ios.values()) for point in detail.series) == ios.total()
    for stream in record.streams:
        each = [s for r in own.values() for s in r.streams if s.name == stream.name]
        counts = [part for one in each for part in one.directions.values()]
        assert stream.total.latency
        assert stream.total.latency.max_ns == max(part.max_ns for part in counts)


def test_figures_are_the_sum_of_what_the_hosts_have(simulated):
    """Each host has the whole depth; the first one alone prepares the target."""
    done = simulated.run(BOTH.replace("LONG", "2s"), "--json")
    assert done.code == 0, done.err
    filled, record = simulated.records()
    assert list(filled.backend.facts["hosts"]) == ["h1"]
    assert list(record.backend.facts["hosts"]) == ["h1", "h2"]
    check_sums(record, simulated.detail(record))
    reads = [part.streams[0].directions["read"] for part in parts_of(record).values()]
    assert min(part.ios for part in reads) > 0
    alone = BOTH.replace("LONG", "2s").replace(", on hosts h1, h2", ", on hosts h1")
    alone = "\n".join(line for line in alone.splitlines() if "writer" not in line)
    assert simulated.run(alone).code == 0
    one = simulated.records()[-1].total.ios
    assert one == pytest.approx(reads[0].ios, rel=0.05)


# ---- real I/O

READ = 'test "R" { run random 4KiB 100/0, on hosts h1, h2 for LONG }'
TWICE = READ + READ.replace('"R"', '"S"')


@pytest.mark.long
def test_real_figures_and_the_start_are_in_the_record(hosts):
    """Also a second time: what is on the target is known to be ioplan's."""
    plan = BOTH.replace("LONG", "500ms").replace("purge", "")
    for _ in range(2):
        done = hosts.run(plan)
        assert done.code == 0, done
    record = hosts.records()[-1]
    check_sums(record, hosts.detail(record))
    facts = record.backend.facts
    starts = {host: one["start"] for host, one in facts["hosts"].items()}
    late_ns = [one["actual_ns"] - one["agreed_ns"] for one in starts.values()]
    assert min(late_ns) >= 0
    assert facts["start_skew_ns"] == max(late_ns) - min(late_ns)
    for one in starts.values():  # one machine has one clock
        assert abs(one["clock_offset_ns"]) <= one["clock_uncertainty_ns"]
    assert hosts.is_free()


@pytest.mark.parametrize(
    "pattern", [pytest.param("random", marks=pytest.mark.long), "sequential"]
)
def test_hosts_write_other_places(hosts, pattern):
    stream = f"{pattern} 64KiB 0/100, qd 1, rate 100 iops, on hosts h1, h2"
    done = hosts.run(f'test "W" {{ run {stream} for 500ms }}')
    assert done.code == 0, done
    content = hosts.path.read_bytes()
    blocks = [any(content[at : at + 65536]) for at in range(0, 32 * MIB, 65536)]
    ios = hosts.records()[-1].total.ios
    assert ios > 60
    if pattern == "random":
        assert sum(blocks) > 0.75 * ios
    else:  # each from the beginning of its half
        assert blocks[:20] == blocks[256:276] == [True] * 20
        assert sum(blocks) == ios


LATE_MS = 1000
LATE = """#!/bin/sh
[ "$1" = run ] || exec {engine} "$@"
mkfifo {folder}/$$
exec 9<&0
{{ head -n 1; sleep {late_s}; cat; }} <&9 > {folder}/$$ &
exec {engine} "$@" < {folder}/$$
"""


def test_a_host_that_is_late_is_seen(tmp_path):
    engine = tmp_path / "engine"
    own = {"engine": engine_path(), "folder": tmp_path, "late_s": LATE_MS / 1000}
    engine.write_text(LATE.format(**own))
    engine.chmod(0o700)
    hosts = Together(tmp_path, more={"h2": {"IOPLAN_ENGINE": str(engine)}})
    done = hosts.run(READ.replace("LONG", "200ms"))
    assert done.code == 0, done
    (record,) = hosts.records()
    # the word comes before the time, and a busy machine delays the other host as well
    assert record.backend.facts["start_skew_ns"] > LATE_MS / 5 * MS_NS
    (warning,) = [text for text in record.warnings if "began" in text]
    assert warning.startswith("h2 began ")
    assert warning.endswith("more than 2 ms")


# ---- the end, and how it goes on


def test_a_host_that_fails_ends_the_run_on_all(hosts):
    with hosts.begin(READ.replace("LONG", "60s")) as client:
        wait_for(hosts.are_at_work, 30)
        for pid in hosts.engines("h2"):
            os.kill(pid, signal.SIGKILL)
        client.communicate(timeout=60)
    assert client.returncode == 3
    (record,) = hosts.records()
    assert record.status == "failed"
    assert record.message.startswith("h2: the engine was ended by signal 9")
    assert record.message.endswith("the other hosts were stopped")
    assert hosts.is_free()


@pytest.mark.long
def test_ctrl_c_ends_all_and_resume_goes_on(hosts):
    with hosts.begin(TWICE.replace("LONG", "2s")) as client:
        wait_for(lambda: len(hosts.records()) == 1 and hosts.are_at_work(), 30)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=60)
    assert client.returncode == 130
    assert hosts.is_free()
    done = program(IOPLAN, "resume", "last", env=hosts.env)
    assert done.returncode == 0, done.stderr
    assert [one.asked.test for one in hosts.records() if one.status == "ok"] == [*"RS"]


@pytest.mark.long
def test_nobody_goes_on_when_the_coordinator_is_killed(hosts):
    """While it is there, nobody else gets in; then the session can be resumed."""
    with hosts.begin(BOTH.replace("LONG", "16s").replace("purge", "")) as client:
        wait_for(lambda: len(hosts.records()) == 1 and hosts.are_at_work(), 30)
        again = hosts.run(READ.replace("LONG", "1s"))
        assert client.poll() is None
        client.kill()
    assert again.code == 2
    assert f"h1: another ioplan uses {hosts.path} now" in again.err
    wait_for(hosts.is_free, 15)
    done = program(IOPLAN, "resume", "last", env=hosts.env)
    assert done.returncode == 0, done.stderr


# ---- what is not done


def test_the_hosts_own_lab_file_says_what_may_be_written(hosts):
    """Whatever the coordinator's says; and what it may not be written can be read."""
    own = hosts.folder / "h2" / "lab.toml"
    own.write_text(own.read_text().replace("writable = true", "writable = false"))
    before = hosts.path.read_bytes()
    done = hosts.run(BOTH.replace("LONG", "1s"))
    assert done.code == 2
    assert "h2: " in done.err
    assert "writable" in done.err
    assert hosts.path.read_bytes() == before
    assert hosts.run(READ.replace("LONG", "100ms")).code == 0
    sparse(hosts.folder / "other", 16 * MIB)
    own.write_text(own.read_text().replace("shared.bin", "other"))
    other = hosts.run(READ.replace("LONG", "100ms"))
    assert "is not the same on h1 and h2: capacity_bytes" in other.err
    own.write_text(own.read_text().replace("[targets.shared]", "[targets.other]"))
    nothing = hosts.run(READ.replace("LONG", "100ms"))
    assert "h2: there is no target 'shared'" in nothing.err


NOT_SHARED = 'use a --target that has hosts = ["h1", "h2"] in the lab file'
REFUSED: list[tuple[str, str, str, str]] = [
    ("h1, h2", "", "", NOT_SHARED),
    ("h1, h2", "LAB", "--target own", NOT_SHARED),
    ("h1, h9", "LAB", "--target both", "both is not; its hosts are: h1, h2"),
    ("h1, h2", "LAB", "--target both --create 1GiB", "--create is for one host"),
    ("h1, h2", 'backend = "spdk"\nLAB', "--target both", "cannot start at a given"),
]
LAB = """[hosts.h1]
[hosts.h2]
[targets.own]
serial = "1"
[targets.both]
hosts = ["h1", "h2"]
serial = "2"
"""


@pytest.mark.parametrize("row", REFUSED)
def test_what_cannot_be_is_said_first(row, tmp_path, monkeypatch):
    names, lab, words, message = row
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if lab:
        written(tmp_path / "lab.toml", lab.replace("LAB", LAB))
        words += f" --lab {tmp_path}/lab.toml"
    plan = READ.replace("h1, h2", names).replace("LONG", "1s")
    refuse(message, "run", plan_file(tmp_path, plan), *words.split())


def test_one_host_alone_does_not_do_what_is_on_several(tmp_path):
    file = plan_file(tmp_path, READ.replace("LONG", "1s"))
    words = ("--backends", "sim,io_uring", "--create", "16MiB", "--target")
    why = "this host alone cannot run streams on h1, h2"
    refuse(why, "crosscheck", file, *words, tmp_path / "t")


def test_a_region_that_cannot_be_shared_out_is_refused(simulated):
    small = "sequential 64KiB 100/0, region 0%..0.0001%, on hosts h1, h2"
    done = simulated.run(f'test "S" {{ run {small} for 1s }}')
    assert done.code == 2
    assert "its region has no room for a part of each host" in done.err


# ---- hosts that cannot take part

NOT_TAKING_PART = """\
no-ssh | | cannot run ssh: No such file or directory
host-unreachable | echo no key >&2; exit 255 | h2: no key; it must be possible to log in
no-ioplan | exec sh -c no-such-ioplan | no-such-ioplan: not found; set `program` in
version-mismatch | echo No such command >&2; exit 2 | (exit code 2): No such command
version-mismatch | echo '{"schema_version": 99}'; sleep 60 | of schema 1, not 99;
version-mismatch | echo Welcome; sleep 60 | 'Welcome' is no message of ioplan
host-lost | echo '{CLOCK}'; sleep 1; kill -9 $$ | its link ended with exit code -9
"""
"""The kind of the error, what the ssh to h2 does, and what is said of it."""
CLOCK = '{"schema_version": 1, "what": "clock"}'


@pytest.mark.long_but_first
@pytest.mark.parametrize("row", NOT_TAKING_PART.splitlines(), ids=range(7))
def test_a_host_that_cannot_take_part(row, tmp_path):
    hosts = Together(tmp_path, "sim")
    kind, does, message = (word.strip() for word in row.split("|"))
    text = hosts.lab.read_text()
    hosts.lab.write_text(text[: text.index("[hosts.h2]")] + "[hosts.h2]\n")
    (ssh := tmp_path / "bin" / "ssh").parent.mkdir()
    (ssh.parent / "env").symlink_to("/usr/bin/env")
    if does:
        ssh.write_text(f"#!/bin/sh\n{does.replace('{CLOCK}', CLOCK)}\n")
        ssh.chmod(0o700)
    rest = hosts.env["PATH"] if does else str(IOPLAN.parent)
    hosts.env["PATH"] = f"{ssh.parent}:{rest}"
    done = hosts.run(READ.replace("LONG", "1s"), "--json")
    assert done.code == 2, done
    assert message in done.err
    assert [line["kind"] for line in done.of("error")] == [kind]


def test_a_participant_says_what_it_does_not_know():
    line = '{"schema_version": 1, "what": "dance"}\n'
    done = program(IOPLAN, "participant", "a-session", input=line)
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert (answer["what"], answer["error"]) == ("failed", "version-mismatch")
    assert "does not know what: " in answer["text"]


SEEKS = """test "Yes" {
  run  random 4KiB 100/0, on hosts h1, h2 for 200ms
  seek highest qd in 1..2 where max < 100s, confirm 300ms
}
test "No" {
  run  random 4KiB 100/0, on hosts h1, h2 for 10s
  seek highest qd in 1..2 where max < 1us
}
"""


@pytest.mark.long
def test_a_seek_of_several_hosts_has_one_answer(hosts):
    """A probe that is decided ends on both hosts."""
    assert hosts.run(SEEKS).code == 1  # one found nothing
    records = hosts.records()
    found = {r.asked.test: r.found.value for r in records if r.found}
    assert found == {"Yes": 2, "No": None}
    assert all(r.run_s < 5 for r in records if r.asked.test == "No" and r.asked.seek)


# ---- by ssh


@pytest.fixture(scope="module")
def by_ssh(tmp_path_factory):
    """h2's clock is an hour ahead while the flag is there."""
    folder = tmp_path_factory.mktemp("ssh")
    ahead = hour_ahead(folder, folder / "flag")
    with host_links(*OWN) as links:
        hosts = Together(folder, "io_uring", {"h2": ahead}, links, "backing_file")
        with (
            loop_device(hosts.named) as device,
            ssh_served(links, folder, hosts.hosts) as ssh,
        ):
            hosts.path = device
            hosts.env["PATH"] = f"{ssh}:{hosts.env['PATH']}"
            yield hosts


def by_network(test):
    return marked(test, [pytest.mark.long, pytest.mark.timeout(300), *NEEDS_SSHD])


def settled(hosts):
    """Whether all has been put back."""
    merges = Path("/sys/block", hosts.path.name, "queue/nomerges")
    return hosts.is_free() and merges.read_text().strip() == "0"


@by_network
@pytest.mark.parametrize("backend", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)])
def test_by_ssh_hosts_begin_together(by_ssh, backend):
    """Also where the clock of one is an hour ahead; their settings are put back."""
    (flag := by_ssh.folder / "flag").touch()
    try:
        done = by_ssh.run(BOTH.replace("LONG", "500ms"), "--backend", backend)
    finally:
        flag.unlink()
    assert done.code == 0, done
    record = by_ssh.records()[-1]
    check_sums(record, by_ssh.detail(record))
    hosts = record.backend.facts["hosts"]
    starts = {name: one["start"] for name, one in hosts.items()}
    for name, hour_ns in (("h1", 0), ("h2", 3600 * 1000 * MS_NS)):
        known_ns = starts[name]["clock_uncertainty_ns"]
        assert abs(starts[name]["clock_offset_ns"] - hour_ns) <= known_ns < 20 * MS_NS
    print(f"{backend}: {record.backend.facts['start_skew_ns'] / MS_NS:.3f} ms skew")
    assert record.backend.facts["start_skew_ns"] < 400 * MS_NS  # of a busy machine
    set_there = [
        one["machine"]["prepared"]["nomerges"]["set"] for one in hosts.values()
    ]
    assert set_there == ["2", "2"]
    assert settled(by_ssh)


@by_network
@pytest.mark.promise("labs.cut_link")
@pytest.mark.parametrize("how", ["cut", "silent"])
def test_no_io_goes_on_behind_a_cut_link(by_ssh, how):
    assert by_ssh.links
    with by_ssh.begin(READ.replace("LONG", "60s")) as client:
        wait_for(by_ssh.are_at_work, 30)
        (engine,) = by_ssh.engines("h2")
        parent = int(Path(f"/proc/{engine}/stat").read_text().split(")")[1].split()[1])
        if how == "cut":
            by_ssh.links.cut("h2")
        else:
            os.kill(parent, signal.SIGSTOP)
        try:
            client.communicate(timeout=90)
            if how == "cut":
                wait_for(lambda: not is_running(engine), 30)
        finally:
            by_ssh.links.mend("h2") if how == "cut" else os.kill(parent, signal.SIGCONT)
    assert client.returncode == 3
    assert by_ssh.records()[-1].message.startswith("h2: it is lost (it")
    wait_for(lambda: settled(by_ssh), 30)


@by_network
@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("known_hosts", ("10.", "11."), "Host key verification failed."),
        ("key.pub", ("AAAA", "BBBB"), "Permission denied (publickey"),
        ("lab.toml", (str(IOPLAN), "no-such"), "set `program` in [hosts."),
    ],
)
def test_ssh_says_why_it_does_not_get_in(by_ssh, file, change, message):
    path = by_ssh.folder / file
    before = path.read_text()
    path.write_text(before.replace(*change))
    try:
        done = by_ssh.run(READ.replace("LONG", "1s"))
    finally:
        path.write_text(before)
    assert done.code == 2
    assert message in done.err
