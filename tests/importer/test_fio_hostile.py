"""Job files and command lines of `ioplan fio` that somebody else wrote, to do harm.

Each gets one clear message before any I/O, does nothing but what it says, or is run
whole. About 250 were tried by hand; these are the ones that told most.
"""

import json

import pytest
from command import ioplan
from hypothesis import example, given, settings
from hypothesis import strategies as st

from golden import Golden

BODY = "rw=randread\nfilename=t.bin\nsize=1m\ndirect=1\nnumber_ios=16\n"
JOB = f"[a]\n{BODY}"
LONG = 1 << 16
SHOWN_BYTES = 8000
"""More is no message for a person."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "r.db"))
    return tmp_path


def with_lines(*lines):
    """The job with other lines in place of its own."""
    names = {line.partition("=")[0] for line in lines}
    kept = [one for one in JOB.splitlines() if one.partition("=")[0] not in names]
    return "\n".join([*kept, *lines, ""])


REFUSED = Golden("fio_refused")


def tried(folder, *words):
    """A call that is refused in a message that can be read, and leaves nothing."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = ioplan("fio", *words)
    assert done.code == 2 and done.out == "" and len(done.err) < SHOWN_BYTES
    kept = {n: (folder / n).read_bytes() for n in before}
    assert kept == before
    new = {path.name for path in folder.iterdir()} - set(before)
    assert new <= {"r.db", "r.db-reserve", "sessions"}
    assert not any(folder.glob("sessions/*"))
    return done


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.promise("import.in_fios_place")
def test_what_is_refused_in_a_message_does_nothing(name, folder):
    case = REFUSED[name]
    for file, text in case.files.items():
        (folder / file).write_bytes(text.encode("latin-1"))
    told = tried(folder, *case.input).err
    assert any(part in told for part in case.expected), told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (f"{'y' * LONG}=1\n", "is no option that is known"),
        (f"bssplit={'4k/1:' * (LONG // 5)}\n", "more than 100 %"),
        (
            "".join(f"line{n} of a log = x\n" for n in range(5000)),
            "5000 options of fio",
        ),
        ("bs=4k\n" * 5_000, "bs is said twice"),
        ("include a.inc\n" * 20, "more than 1 MiB in all"),
    ],
    ids=["a word", "a value", "another file's words", "repeated", "a tree"],
)
def test_what_is_endless_is_one_message(more, said, folder):
    (folder / "a.inc").write_text(f"; {'x' * 60_000}\n")
    (folder / "j.fio").write_text(JOB + more)
    assert said in tried(folder, "j.fio", "--output=o.json").err


def test_no_file_has_a_say_in_the_jobs_of_another(folder):
    (folder / "a.fio").write_text(f"[global of all]\nbs=64k\n{JOB}")
    (folder / "b.fio").write_text("; mine\nrw=write\nfilename=b.bin\n")
    (folder / "c.fio").write_text(f"# mine\n{JOB}")
    assert "has a [global] section" in tried(folder, "a.fio", "c.fio").err
    assert "options before its first" in tried(folder, "c.fio", "b.fio").err
    assert "options before its first" in tried(folder, "--bs=4k", "b.fio").err


def test_a_job_of_standard_input_ends():
    done = ioplan("fio", "-", stdin="x" * (5 << 20))
    assert done.code == 2 and "larger than 4 MiB" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("depth", ["0x10", "1.5", "99999999999"])
def test_what_runs_is_told_whatever_its_depth(depth, folder):
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
def test_a_job_of_any_name_is_told_and_steers_no_terminal(name, folder):
    (folder / "j.fio").write_text(JOB.replace("[a]", f"[{name}]"), newline="")
    done = ioplan("fio", "j.fio", "--output-format=normal,terse,json")
    text, _, document = done.out.partition("\n{")
    (job,) = json.loads("{" + document)["jobs"]
    assert job["jobname"] == name and job["read"]["total_ios"] == 16
    assert text.count("groupid=0") == 1 and "issued rwts: total=16," in text
    assert not {"\x1b", "\u202e", "\r"} & set(text)


@pytest.mark.slow
def test_words_of_a_shell_are_only_words(folder):
    (folder / "j.fio").write_text(with_lines("filename=$(touch PWNED)|`touch PWNED`"))
    assert ioplan("fio", "j.fio", "--parse-only").code == 0
    assert ioplan("fio", "j.fio").code == 0
    assert not (folder / "PWNED").exists()


@given(st.lists(st.text(max_size=12).map("--description={}".format) | st.text()))
@example(["--", "--rw"])
@example(["---", "-=", "--=x"])
@settings(max_examples=25)
def test_words_are_a_call_or_an_error(words):
    """No value becomes another line of the job."""
    done = ioplan("fio", "--parse-only", "--name=a", *words, "--rw=read")
    assert done.code in (0, 2) and not done.out and len(done.err) < SHOWN_BYTES
    assert done.code == 0 or "Traceback" not in done.err
