"""A fio job with `read_iolog` becomes a replay of a trace that is made of its log."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Done, ioplan

from ioplan.trace import READ, WRITE, Prepared

LOG = """fio version 3 iolog
0 /dev/x add
0 /dev/x open
1000 /dev/x read 0 4096
3000 /dev/x write 8192 4096
5000 /dev/x read 4096 4096
"""
HEAD = "ioengine=libaio\ndirect=1\niodepth=16\nread_iolog=web.log\n"


def imported(folder: Path, text: str, *more: str) -> Done:
    (folder / "web.log").write_text(LOG)
    (folder / "job.fio").write_text(text)
    where = more or ("-o", str(folder / "new" / "p.ioplan"))
    (folder / "new").mkdir(exist_ok=True)
    return ioplan("import", folder / "job.fio", *where)


def clauses(folder: Path, job: str) -> str:
    head = HEAD.replace("ioengine=libaio\n", "") if "ioengine" in job else HEAD
    done = imported(folder, f"[web]\n{head}{job}")
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


def test_what_a_job_says_of_its_log_is_in_the_plan(tmp_path: Path) -> None:
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


def test_the_trace_is_that_of_the_log_and_replays(
    tmp_path: Path, store_path: Path
) -> None:
    done = imported(tmp_path, f"[web]\n{HEAD}[again]\nstonewall\n{HEAD}")
    assert done.code == 0, done.err
    ios = Prepared.open(tmp_path / "new" / "web_trace.iotrace").ios
    assert ios["time_ns"].tolist() == [0, 2_000_000, 4_000_000]
    assert ios["kind"].tolist() == [READ, WRITE, READ]
    plan = tmp_path / "new" / "p.ioplan"
    done = ioplan("run", plan, "--backend", "sim", "--create", "1MiB", "--json")
    assert done.code == 0, done.err
    counts = [one["record"]["streams"][0]["directions"] for one in done.of("record")]
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
def test_what_a_replay_has_not_is_told(job: str, told: str, tmp_path: Path) -> None:
    done = imported(tmp_path, f"[web]\n{HEAD}{job}")
    assert done.code == 1 and done.err.count("warning:") == 1 and told in done.err


def test_what_is_no_log_leaves_out_its_job_only(tmp_path: Path) -> None:
    other = f"[b]\n{HEAD}"
    for log, why in (
        ("gone.log", "there is no such file"),
        ("job.fio", "no known trace"),
        ("", "there is no such file"),
    ):
        job = HEAD.replace("web.log", log)
        done = imported(tmp_path, f"[a]\n{job}{other}")
        assert done.code == 1 and done.err.count("error:") == 1, done.err
        assert "the job 'a' is left out" in done.err and why in done.err
        for made in (tmp_path / "new").iterdir():
            made.unlink()


def test_a_log_that_is_broken_further_on_is_one_error(tmp_path: Path) -> None:
    done = imported(tmp_path, f"[web]\n{HEAD}".replace("web.log", "cut.log"))
    (tmp_path / "cut.log").write_text(f"{LOG}9000 /dev/x re")
    done = imported(tmp_path, f"[web]\n{HEAD}".replace("web.log", "cut.log"))
    assert done.code == 2 and done.err.count("error:") == 1, done.err
    assert "line 7" in done.err and list((tmp_path / "new").iterdir()) == []


def test_without_a_file_there_is_no_place_for_a_trace(tmp_path: Path) -> None:
    done = imported(tmp_path, f"[web]\n{HEAD}", "--set", "a=b")
    assert done.code == 2 and "name the plan with -o FILE" in done.err
    assert {one.name for one in tmp_path.iterdir()} == {"web.log", "job.fio", "new"}


def test_in_fios_place_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "web.log").write_text(LOG)
    (tmp_path / "job.fio").write_text(f"[web]\n{HEAD}")
    done = ioplan("fio", tmp_path / "job.fio")
    assert done.code != 0 and "ioplan import JOBFILE -o" in done.err
    assert {one.name for one in tmp_path.iterdir()} == {"web.log", "job.fio"}


def test_a_trace_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "web_trace.iotrace").write_text("mine")
    done = imported(tmp_path, f"[web]\n{HEAD}")
    assert done.code == 2 and "add --force" in done.err
    assert (tmp_path / "new" / "web_trace.iotrace").read_text() == "mine"
