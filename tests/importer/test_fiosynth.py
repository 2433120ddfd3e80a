"""Suites of FioSynth and fio's replays as plans."""

import json
from typing import Any

import pytest
from command import ioplan
from imported import told

from golden import Golden
from ioplan.language import Source
from ioplan.trace import READ, WRITE, Prepared
from ioplan_importer import ImportFault, import_plan, kind_of

ACME = Golden("fiosynth")["Acme"]
SUITE: dict[str, Any] = json.loads(ACME.input)


def imported(folder, suite, **variables):
    (folder / "jobfiles").mkdir(exist_ok=True)
    (folder / "wkldsuites").mkdir(exist_ok=True)
    for name, text in ACME.files.items():
        (folder / "jobfiles" / name).write_text(text)
    source = Source(str(folder / "wkldsuites" / "Acme"), json.dumps(suite, indent=1))
    assert kind_of(source) == "fiosynth"
    return import_plan(source, "fiosynth", variables)


def test_a_suite_is_a_plan(tmp_path):
    made = imported(tmp_path, SUITE)
    assert made.plan, made.found[-1].render()
    assert "write sequential 1MiB, qd 8, 2 passes" in made.text
    assert (
        "reader = random 4KiB 100/0, qd 10, rate 3_500 iops, region 0%..50%"
        in made.text
    )
    assert "log = sequential 128KiB 0/100, pause 12800us every 32" in made.text
    for line in (
        "expect read.p99 <= 2ms",
        "expect read.max <= 35ms",
        "expect write.bandwidth >= 40MB/s",
    ):
        assert f"  {line}" in made.text
    assert [test.title for test in made.plan.tests] == ["warm", "L1"]


def test_a_target_that_nothing_decides_is_told(tmp_path):
    made = imported(tmp_path, SUITE)
    assert "# cannot be decided: expect trim.bandwidth >= 5MB/s" in made.text
    assert told(made) == ["no run of this test has trims to measure"]


def test_values_grow_with_the_capacity(tmp_path):
    text = imported(tmp_path, SUITE, CAPACITY_TB="2").text
    assert "qd 20, rate 7_000 iops" in text and "pause 6400us every 32" in text
    fixed = imported(tmp_path, SUITE | {"scale_by_capacity": "N"}, CAPACITY_TB="2").text
    assert "qd 10, rate 3_500 iops" in fixed


def test_a_suite_without_preconditions_starts_at_once(tmp_path):
    text = imported(tmp_path, SUITE | {"precondition_cycles": 0}).text
    assert "precondition" not in text and "after" not in text


def test_equal_names_are_told_apart(tmp_path):
    twice = imported(tmp_path, SUITE | {"def": SUITE["def"] * 2})
    assert twice.plan and [test.title for test in twice.plan.tests][1:] == [
        "L1",
        "L1 (2)",
    ]


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ('{"def": [}', "this is no JSON"),
        ('{"def": 3}', "a suite has a list 'def' of workloads"),
        ('{"def": [{"template": "none.fio"}]}', "no workload of the suite can be said"),
    ],
)
def test_what_is_no_suite(tmp_path, suite, message):
    with pytest.raises(ImportFault, match=message):
        import_plan(Source(str(tmp_path / "s"), suite), "fiosynth", {})


@pytest.mark.parametrize(
    "key", ["description", "devices_in_global", "precondition_first_cycle_only"]
)
def test_a_key_of_its_own_suites_is_no_loss(key, tmp_path):
    plain, made = (imported(tmp_path, {**SUITE, **more}) for more in ({}, {key: "N"}))
    assert told(made) == told(plain)


@pytest.mark.parametrize("kind", ["suite", "workload", "targets"])
def test_a_key_that_nobody_knows_is_told(tmp_path, kind):
    suite = json.loads(json.dumps(SUITE))
    entry = suite["def"][0]
    place = {"suite": suite, "workload": entry, "targets": entry["targets"]}[kind]
    place["invented"] = {"read": {"MIN": 1}}
    assert f"'invented' of a {kind} is left out" in told(imported(tmp_path, suite))[0]


def test_a_throughput_by_the_capacity_is_told(tmp_path):
    suite = json.loads(json.dumps(SUITE))
    scaled = suite["def"][0]["targets"]["throughput"]
    for value, number in ((1, 1), (0, 0)):
        scaled["scale_by_TB"] = {"value": value}
        found = told(imported(tmp_path, suite))
        assert sum("scale_by_TB" in one for one in found) == number


# a fio job with `read_iolog` becomes a replay of a trace that is made of its log

LOG = """fio version 3 iolog
0 /dev/x add
0 /dev/x open
1000 /dev/x read 0 4096
3000 /dev/x write 8192 4096
5000 /dev/x read 4096 4096
"""
HEAD = "ioengine=libaio\ndirect=1\niodepth=16\nread_iolog=web.log\n"


def job_imported(folder, text, *more):
    (folder / "web.log").write_text(LOG)
    (folder / "job.fio").write_text(text)
    where = more or ("-o", str(folder / "new" / "p.ioplan"))
    (folder / "new").mkdir(exist_ok=True)
    return ioplan("import", folder / "job.fio", *where)


def clauses(folder, job):
    head = HEAD.replace("ioengine=libaio\n", "") if "ioengine" in job else HEAD
    done = job_imported(folder, f"[web]\n{head}{job}")
    assert done.code == 0, done.err
    text = (folder / "new" / "p.ioplan").read_text()
    assert ioplan("check", folder / "new" / "p.ioplan").code == 0
    (folder / "new" / "web_trace.iotrace").unlink()
    (folder / "new" / "p.ioplan").unlink()
    (line,) = [one for one in text.splitlines() if one.startswith("workload")]
    return line.partition("= ")[2] + "".join(
        line.strip().removeprefix("run    web")
        for line in text.splitlines()
        if line.startswith("  run")
    )


def test_what_a_job_says_of_its_log_is_in_the_plan(tmp_path):
    said = {
        "": "replay web_trace, qd 16",
        "replay_time_scale=200\n": "replay web_trace, qd 16, speed 2",
        "replay_time_scale=50\n": "replay web_trace, qd 16, speed 0.5",
        "replay_no_stall=1\n": "replay web_trace as fast as possible, qd 16",
        "replay_skip=write,trim,sync\n": "replay web_trace, qd 16, only reads",
        "replay_skip=read,trim,sync\n": "replay web_trace, qd 16, only writes",
        "ioengine=psync\n": "replay web_trace, qd 1",
        "runtime=10\n": "replay web_trace, qd 16 for run_time",
    }
    assert {job: clauses(tmp_path, job) for job in said} == said


def test_the_trace_is_that_of_the_log_and_replays(tmp_path, store_path):
    done = job_imported(tmp_path, f"[web]\n{HEAD}[again]\nstonewall\n{HEAD}")
    assert done.code == 0, done.err
    ios = Prepared.open(tmp_path / "new" / "web_trace.iotrace").ios
    assert ios["time_ns"].tolist() == [0, 2_000_000, 4_000_000]
    assert ios["kind"].tolist() == [READ, WRITE, READ]
    plan = tmp_path / "new" / "p.ioplan"
    done = ioplan("run", plan, "--backend", "sim", "--create", "1MiB", "--json")
    assert done.code == 0, done.err
    counts = [one["streams"][0]["directions"] for one in done.records]
    assert [(c["read"]["ios"], c["write"]["ios"]) for c in counts] == [(2, 1)] * 2


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ("replay_scale=2\n", "replay_scale=2 is left out"),
        ("rate_iops=10\n", "rate_iops is left out"),
        ("numjobs=3\n", "numjobs is left out"),
        ("replay_skip=trim\n", "replay_skip=trim is left out"),
        ("replay_skip=write\n", "here only reads are replayed"),
    ],
)
def test_what_a_replay_has_not_is_told(job, told, tmp_path):
    done = job_imported(tmp_path, f"[web]\n{HEAD}{job}")
    assert done.code == 1 and done.err.count("warning:") == 1 and told in done.err


def test_what_is_no_log_leaves_out_its_job_only(tmp_path):
    other = f"[b]\n{HEAD}"
    for log, why in (
        ("gone.log", "there is no such file"),
        ("job.fio", "no known trace"),
        ("", "there is no such file"),
    ):
        job = HEAD.replace("web.log", log)
        done = job_imported(tmp_path, f"[a]\n{job}{other}")
        assert done.code == 1 and done.err.count("error:") == 1, done.err
        assert "the job 'a' is left out" in done.err and why in done.err
        for made in (tmp_path / "new").iterdir():
            made.unlink()


def test_a_log_that_is_broken_further_on_is_one_error(tmp_path):
    done = job_imported(tmp_path, f"[web]\n{HEAD}".replace("web.log", "cut.log"))
    (tmp_path / "cut.log").write_text(f"{LOG}9000 /dev/x re")
    done = job_imported(tmp_path, f"[web]\n{HEAD}".replace("web.log", "cut.log"))
    assert done.code == 2 and done.err.count("error:") == 1, done.err
    assert "line 7" in done.err and list((tmp_path / "new").iterdir()) == []


def test_without_a_file_there_is_no_place_for_a_trace(tmp_path):
    done = job_imported(tmp_path, f"[web]\n{HEAD}", "--set", "a=b")
    assert done.code == 2 and "name the plan with -o FILE" in done.err
    assert {one.name for one in tmp_path.iterdir()} == {"web.log", "job.fio", "new"}


def test_in_fios_place_it_is_refused(tmp_path):
    (tmp_path / "web.log").write_text(LOG)
    (tmp_path / "job.fio").write_text(f"[web]\n{HEAD}")
    done = ioplan("fio", tmp_path / "job.fio")
    assert done.code != 0 and "ioplan import JOBFILE -o" in done.err
    assert {one.name for one in tmp_path.iterdir()} == {"web.log", "job.fio"}


def test_a_trace_that_is_there_stays(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "web_trace.iotrace").write_text("mine")
    done = job_imported(tmp_path, f"[web]\n{HEAD}")
    assert done.code == 2 and "add --force" in done.err
    assert (tmp_path / "new" / "web_trace.iotrace").read_text() == "mine"
