"""Job files and command lines of `ioplan fio` that somebody else wrote, to do harm.

Each gets one clear message before any I/O, does nothing but what it says, or is run
whole. About 250 were tried by hand; these are the ones that told most.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Done, ioplan
from hypothesis import example, given, settings
from hypothesis import strategies as st

BODY = "rw=randread\nfilename=t.bin\nsize=1m\ndirect=1\nnumber_ios=16\n"
JOB = f"[a]\n{BODY}"
WORDS = ("--rw=randread", "--size=1m", "--direct=1", "--number_ios=16")
LONG = 1 << 16
SHOWN_BYTES = 8000
"""More is no message for a person."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "r.db"))
    return tmp_path


def with_lines(*lines: str) -> str:
    """The job with other lines in place of its own."""
    names = {line.partition("=")[0] for line in lines}
    kept = [one for one in JOB.splitlines() if one.partition("=")[0] not in names]
    return "\n".join([*kept, *lines, ""])


FILES = {
    "a program": (b"\x7fELF\2\1\1\0\xff\xfe", "not a UTF-8 text"),
    "a cut off section": ("[global]\nbs=4k\n[a", "a section's name ends with ]"),
    "global only": (f"[global]\n{BODY}", "there is no job"),
    "a NUL in the target": (with_lines("filename=t\0.bin"), "has a NUL character"),
    "a target too long": (with_lines(f"filename={'f' * 300}"), "cannot use 'ffff"),
    "a path too long": (with_lines(f"filename={'d/' * 3000}x"), "there is no folder"),
    "an endless word": (f"{JOB}{'y' * LONG}=1\n", "is no option that is known"),
    "an endless value": (f"{JOB}bssplit={'4k/1:' * (LONG // 5)}\n", "more than 100 %"),
    "words of something else": (
        JOB + "".join(f"line{number} of a log = x\n" for number in range(5000)),
        "5000 options of fio are unknown here",
    ),
    "options repeated": (JOB + "bs=4k\n" * 5_000, "bs is said twice"),
    "a base of 7": (with_lines("kb_base=7"), "7 is neither 1000 nor 1024"),
    "a size of 80 bits": (with_lines(f"size={10**24}"), "is no number of 64 bits"),
    "more than the disk": (with_lines("size=8191p"), "do not fit"),
    "a program before": (f"{JOB}exec_prerun=touch PWNED\n", "exec_prerun=touch"),
    "an engine of its own": (with_lines("ioengine=external:./e.so"), "is left out"),
    "a replay of a device": (f"{JOB}read_iolog=/dev/zero\n", "read_iolog=/dev/zero"),
    "an output": (f"{JOB}output=/etc/passwd\n", "'output' is no option"),
    "a kernel file": (with_lines("filename=/proc/self/mem"), "but a kernel file"),
    "a character device": (with_lines("filename=/dev/null"), "a character device"),
    "percentiles above 100": (f"{JOB}percentile_list=99:101\n", "'101' is no percent"),
    "a log without a folder": (
        f"{JOB}write_bw_log=no/l\nlog_avg_msec=100\n",
        "cannot write into 'no'; nothing was run",
    ),
    "an odd digit": (
        f"{JOB}write_bw_log=l\nlog_avg_msec=\u00b2\n",
        "logs are averages",
    ),
}


def tried(folder: Path, *words: str) -> Done:
    """A call that is refused in a message that can be read, and leaves nothing."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = ioplan("fio", *words)
    assert done.code == 2 and done.out == "" and len(done.err) < SHOWN_BYTES
    kept = {n: (folder / n).read_bytes() for n in before}
    assert kept == before
    new = {path.name for path in folder.iterdir()} - set(before)
    assert new <= {"r.db", "r.db-reserve", "sessions"}
    return done


@pytest.mark.parametrize("name", FILES)
def test_a_job_file_is_refused_in_a_message(name: str, folder: Path) -> None:
    text, said = FILES[name]
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "j.fio").write_bytes(data)
    assert said in tried(folder, "j.fio", "--output=o.json").err


INCLUDES = {
    "a cycle": ("include b.inc\ninclude b.inc\n", "include each other without end"),
    "a tree": (f"; {'x' * 60_000}\n", "more than 1 MiB in all"),
    "a device": ("include /dev/zero\n", "not a regular file"),
}


@pytest.mark.parametrize("name", INCLUDES)
def test_included_files_end(name: str, folder: Path) -> None:
    text, said = INCLUDES[name]
    (folder / "j.fio").write_text(JOB + "include a.inc\n" * 20)
    (folder / "a.inc").write_text(text)
    (folder / "b.inc").write_text("include a.inc\n")
    assert said in tried(folder, "j.fio").err


CALLS = {
    "a comment in a target": (("--filename=/dev/a#1",), "would become another value"),
    "a second line": (("--description=x\nfilename=b",), "cannot be shown"),
    "a variable": (("--filename=${HOME}/x",), "would become another value"),
    "an output without a folder": (("--output=no/o",), "'no'; nothing was run"),
    "an output in the place of a folder": (("--output=.",), "nothing was run"),
    "an output to a device": (("--output=/dev/full",), "is not a regular file"),
    "no name": (("--=x",), "is no option"),
    "a switch with a value": (("--parse-only=0",), "takes no value"),
    "no such job": (("--section=b",), "--section names none of the jobs: a"),
    "a daemon": (("--daemonize=pid",), "is for fio itself"),
    "a command": (("--trigger=touch PWNED",), "is for fio itself"),
    "an option for a file": (("--", "--output=o"), "cannot read '--output=o'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_command_line_is_refused_in_a_message(name: str, folder: Path) -> None:
    words, said = CALLS[name]
    assert said in tried(folder, "--name=a", *WORDS, *words).err


def test_no_file_has_a_say_in_the_jobs_of_another(folder: Path) -> None:
    (folder / "a.fio").write_text(f"[global of all]\nbs=64k\n{JOB}")
    (folder / "b.fio").write_text("; mine\nrw=write\nfilename=b.bin\n")
    (folder / "c.fio").write_text(f"# mine\n{JOB}")
    assert "has a [global] section" in tried(folder, "a.fio", "c.fio").err
    assert "options before its first" in tried(folder, "c.fio", "b.fio").err
    assert "options before its first" in tried(folder, "--bs=4k", "b.fio").err


def test_a_job_of_standard_input_ends() -> None:
    done = ioplan("fio", "-", stdin="x" * (5 << 20))
    assert done.code == 2 and "larger than 4 MiB" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("depth", ["0x10", "1.5", "99999999999"])
def test_what_runs_is_told_whatever_its_depth(depth: str, folder: Path) -> None:
    """fio takes them all; its number ends where no digit follows."""
    (folder / "j.fio").write_text(f"{JOB}iodepth={depth}\npercentile_list=50:100:0:\n")
    done = ioplan("fio", "j.fio", "--output-format=json")
    (job,) = json.loads(done.out)["jobs"]
    assert job["read"]["total_ios"] == 16 and not done.err
    assert [*job["read"]["clat_ns"]["percentile"]] == [
        "0.000000",
        "50.000000",
        "100.000000",
    ]
    assert sum(job["iodepth_level"].values()) == 100


NAMES = (
    "a\x1b[31mb",
    "a\u202eb",
    "a\u00a0b",
    'a"b',
    "a\\",
    "a\rb",
    "${HOME}",
    "[",
    "é",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_job_of_any_name_is_told_and_steers_no_terminal(
    name: str, folder: Path
) -> None:
    (folder / "j.fio").write_text(JOB.replace("[a]", f"[{name}]"), newline="")
    done = ioplan("fio", "j.fio", "--output-format=normal,terse,json")
    text, _, document = done.out.partition("\n{")
    (job,) = json.loads("{" + document)["jobs"]
    assert job["jobname"] == name and job["read"]["total_ios"] == 16
    assert text.count("groupid=0") == 1 and "issued rwts: total=16," in text
    assert not {"\x1b", "\u202e", "\r"} & set(text)


@pytest.mark.slow
def test_words_of_a_shell_are_only_words(folder: Path) -> None:
    (folder / "j.fio").write_text(with_lines("filename=$(touch PWNED)|`touch PWNED`"))
    assert ioplan("fio", "j.fio", "--parse-only").code == 0
    assert ioplan("fio", "j.fio").code == 0
    assert not (folder / "PWNED").exists()


@pytest.mark.parametrize("text", ["1.2.3", "101:50", "0:-1:nan", "1e9", "\u00b2"])
def test_percentiles_are_of_a_hundred(text: str) -> None:
    done = ioplan("fio", "--name=a", *WORDS, f"--percentile_list={text}")
    assert done.code == 2 and "is no percent" in done.err, done


@given(st.lists(st.text(max_size=12).map("--description={}".format) | st.text()))
@example(["--", "--rw"])
@example(["---", "-=", "--=x"])
@settings(max_examples=25)
def test_words_are_a_call_or_an_error(words: list[str]) -> None:
    """No value becomes another line of the job."""
    done = ioplan("fio", "--parse-only", "--name=a", *words, "--rw=read")
    assert done.code in (0, 2) and not done.out and len(done.err) < SHOWN_BYTES
    assert done.code == 0 or "Traceback" not in done.err
