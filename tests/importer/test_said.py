"""What job and parameter files say, as a plan, and whether that asks the same again."""

import os
import subprocess
from itertools import pairwise

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from imported import imported, streams_of, told

from golden import Golden
from ioplan.language import Source
from ioplan_importer import ImportFault, import_plan

OPTIONS = Golden("options_said")
HEAD = "[a]\nioengine=libaio\ndirect=1\nfilename=/dev/sdb\nnorandommap\n"


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_said_is_in_the_plan_or_told(name, golden):
    """An option, a word of a definition, or some of several jobs in each case."""
    made = imported(OPTIONS[name].input, name.partition(":")[0])
    assert made.plan
    lines = [line for line in made.text.splitlines() if line and line[0] != "#"]
    found = [f"{one.severity}: {one.message}" for one in made.found]
    golden(OPTIONS, name, {"plan": "\n".join(lines), "told": "\n".join(found)})


SIZES = {
    "1mi": 1048576,
    "1MiB": 1000000,
    "64KIB": 64000,
    "3kb": 3072,
    "5120b": 5120,
    "0x1000k": 4096,
    "0x100000": 1048576,
    "1e6": 1,
    "10_000": 10,
    "+4k": 4096,
    "8ki": 8192,
    "1.5m": 1,
    "2*1048576": 2,
}
"""What fio 3.33 moved of `size=` with blocks of one byte: test_job_files.py."""


@pytest.mark.parametrize("base", [1024, 1000])
def test_sizes_are_those_of_fio(base):
    """By the rate, which may be of any number of bytes. A base of 1000 swaps units."""
    texts = SIZES if base == 1024 else {"1m": 10**6, "1mib": 1 << 20}
    for text, size_bytes in texts.items():
        made = imported(f"{HEAD}rw=read\nkb_base={base}\nrate={text}\n")
        (stream,) = streams_of(made.text)
        assert stream.rate and stream.rate.bytes_per_s == size_bytes, text


@pytest.mark.parametrize(
    "option",
    [
        *("number_ios", "rate_iops", "rate", "bs", "runtime", "size", "offset"),
        *("thinktime", "io_size", "startdelay", "fsync"),
    ],
)
def test_an_amount_below_zero_is_reported_and_left_out(option):
    """fio takes -1 as 2^64 - 1."""
    made, plain = (imported(f"{HEAD}rw=randwrite\n{more}") for more in (f"{option}=-1\n", ""))  # fmt: skip
    assert made.plan and plain.plan
    assert any(f"{option} is below zero" in one for one in told(made))
    assert made.text.partition("plan ")[2] == plain.text.partition("plan ")[2]


@pytest.mark.parametrize(
    "name",
    ["time_based", "norandommap", "direct", "buffered", "zero_buffers", "stonewall"],
)
def test_a_switch_that_is_no_number_is_left_out(name):
    made = imported(f"[a]\nrw=randread\nruntime=1\n{name}=libaio\n")
    errors = [one.message for one in made.found if one.severity == "error"]
    assert errors == [f"{name}: 'libaio' is no number; it is left out"]
    assert made.plan


def test_words_of_the_machine_are_divided(monkeypatch):
    """fio hands them to `bc`."""
    monkeypatch.setattr(os, "cpu_count", lambda: 13)
    for text, threads in (("$ncpus/2", 6), ("$ncpus/2*3", 18), ("2*$ncpus", 26)):
        made = imported(f"{HEAD}rw=read\nnumjobs={text}\n")
        assert f", threads {threads}\n" in made.text


def test_a_variable_is_given():
    made = imported(f"{HEAD}rw=randread\nsize=${{SPACE}}g\n", SPACE="2")
    assert "region 0B..2GiB" in made.text and made.is_whole


def test_what_was_found_before_a_fault_is_told():
    with pytest.raises(ImportFault) as fault:
        imported(f"{HEAD}rw=read\nbs=4000\n")
    assert [one.message for one in fault.value.found] == [
        "a block size of 4000 B is no multiple of 512 B"
    ]


def test_a_loss_is_told_with_its_place(tmp_path):
    job = tmp_path / "a.fio"
    job.write_text("[a]\nrw=randread\ndirect=1\nbs=4k\nruntime=2\ninvented=3\n")
    done = ioplan("import", job)
    assert done.code == 1 and "invented" in done.err and "a.fio:6:1" in done.err


@pytest.mark.parametrize(
    ("more", "deep", "said"),
    [
        ("iodepth=32\ninclude deep.fio\n", "bs=64k\n", ""),
        ("[k]\nbs=4k\n", "", "an included file may hold no sections"),
        ("include more.fio\n", "", "files include each other without end"),
        ("include deep.fio\n" * 20, "include more.fio\n" * 20, "each other without end"),
    ],
)  # fmt: skip
def test_an_included_file_adds_options(more, deep, said, tmp_path):
    (tmp_path / "more.fio").write_text(more)
    (tmp_path / "deep.fio").write_text(deep)
    source = Source(str(tmp_path / "j.fio"), "[j]\nioengine=null\ninclude more.fio\n")
    if said:
        with pytest.raises(ImportFault, match=said):
            import_plan(source, "fio", {})
    else:
        text = import_plan(source, "fio", {}).text
        assert "sequential 64KiB 100/0, qd 32" in text


@pytest.mark.parametrize(
    "text", ["fsd=f,anchor=/x\nfwd=w,fsd=f\n", "sd=s,lun=/dev/sdb\nrd=r,wd=none\n"]
)
def test_a_parameter_file_that_a_plan_cannot_say(text):
    with pytest.raises(ImportFault, match="can be said as a plan"):
        imported(text, "vdbench")


# `ioplan import` as people call it

IMPORTS = Golden("imports")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """With the cases as files."""
    monkeypatch.chdir(tmp_path)
    for one in IMPORTS.values():
        one.put(tmp_path)


@pytest.mark.parametrize("name", IMPORTS)
@pytest.mark.promise("exit_codes.import", "import.told")
def test_a_file_as_a_plan(name, golden):
    done = ioplan("import", name)
    golden(IMPORTS, name, {"code": done.code, "plan": done.out, "told": done.err})


def test_a_dash_is_standard_output(tmp_path):
    before = {*tmp_path.iterdir()}
    done = ioplan("import", "matrix.fio", "-o", "-")
    assert (done.code, done.out) == (0, IMPORTS["matrix.fio"].expected["plan"])
    refused = ioplan("import", "matrix.fio", "streams.fio", "-o", "-")
    assert refused.code == 2 and "-o DIR" in refused.err
    assert {*tmp_path.iterdir()} == before


def test_a_plan_is_written_and_checks(tmp_path):
    plan = tmp_path / "m.ioplan"
    assert ioplan("import", "matrix.fio", "-o", plan).code == 0
    assert ioplan("check", str(plan)).code == 0
    assert ioplan("fmt", "--check", str(plan)).code == 0


def test_a_suite_shares_its_workloads(tmp_path):
    again = tmp_path / "again.fio"
    again.write_text(IMPORTS["streams.fio"].input.replace("1m\n", "2m\n", 1))
    files = ("streams.fio", "clauses.fio", again)
    done = ioplan("import", *files, "--suite", "acme", "-o", tmp_path / "acme")
    assert done.code == 1, done.err
    plans = sorted(path.name for path in (tmp_path / "acme").iterdir())
    assert plans == [
        f"{n}.ioplan" for n in ("again", "clauses", "streams", "workloads")
    ]
    library = (tmp_path / "acme" / "workloads.ioplan").read_text()
    assert library.count("workload user_and_3_more") == 1
    for name in ("again", "clauses", "streams"):
        plan = tmp_path / "acme" / f"{name}.ioplan"
        assert ioplan("check", str(plan)).code == 0
        assert "workload " not in plan.read_text()


def test_what_cannot_be_imported(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("remember the milk\n")
    done = ioplan("import", str(text))
    assert done.code == 2 and "this is no file that can be imported" in done.err
    several = ioplan("import", str(text), str(text))
    assert several.code == 2
    assert "no such file" in ioplan("import", "nowhere.fio").err.lower()


# a plan that is emitted for fio again asks what the job file asked: `import --prove`

PROOFS = Golden("fio_proofs")


def proofs_of(kind):
    return [name for name in PROOFS if name.startswith(kind)]


@pytest.fixture
def without_fio(monkeypatch):
    """The options of both are compared, and no I/Os."""
    monkeypatch.setenv("PATH", "")


def proofs(job):
    """The line of each job."""
    lines = ioplan("import", job, "--prove").err.splitlines()
    return [one for one in lines if one.startswith(("equal: ", "not equal: "))]


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", ["matrix", "streams", "staggered"])
def test_what_imports_whole_is_equal(name, tmp_path):
    found = proofs(IMPORTS[f"{name}.fio"].put(tmp_path))
    assert found and all(one.startswith("equal: ") for one in found), found


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", proofs_of("loss"))
def test_a_loss_is_a_difference(name, tmp_path):
    options, differing = PROOFS[name].input, PROOFS[name].expected
    job = tmp_path / "j.fio"
    rw = "" if "rw=" in options else "rw=randread\n"
    head = "norandommap\n" if "rw=write" not in options else ""
    job.write_text(f"[j]\n{rw}direct=1\nfilename=/dev/sdb\n{head}{options}\n")
    (found,) = proofs(job)
    assert found.startswith("equal: ") is not bool(differing) and differing in found


@pytest.mark.long
@NEEDS_FIO
def test_fio_makes_the_same_ios_of_both(tmp_path):
    done = ioplan("import", IMPORTS["clauses.fio"].put(tmp_path), "--prove")
    told = [line for line in done.err.splitlines() if "equal: " in line]
    names = {line.split(": ")[1]: line for line in told}
    for name in ("range", "data", "zeros", "zones", "discard", "parts"):
        assert names[name].startswith("equal: ")
        assert "fio makes the same I/Os of both (1000)" in names[name]
    assert "fio makes other I/Os of both" in names["sizes"]
    assert done.code == 1


@pytest.mark.slow
@NEEDS_FIO
def test_a_direction_of_fio_goes_on_from_its_own_last_io(tmp_path):
    """As `read random` and `write random` define it, on what a plan becomes for fio."""
    plan = plan_file(
        tmp_path,
        'test "T" { run random 4KiB 50/50, read random 90%, write random 20%, '
        "region 0%..1% for 1s }",
    )
    words = ("--backend", "fio", "--capacity", "64GiB", "--show-native")
    native = ioplan("plan", plan, *words).out
    forced = "ioengine=null\nfilesize=64g\nnumber_ios=1000\ntime_based=0\n"
    job = f"{native[native.index('[global]') :]}{forced}write_iolog=log\n"
    (tmp_path / "j.fio").write_text(job)
    subprocess.run(["fio", "j.fio"], cwd=tmp_path, check=True, capture_output=True)
    rows = [line.split()[-3:] for line in (tmp_path / "log").read_text().splitlines()]
    for direction, drawn in (("read", 0.9), ("write", 0.2)):
        offsets = [int(row[1]) for row in rows if row[0] == direction]
        went_on = sum(b == a + 4096 for a, b in pairwise(offsets)) / len(offsets)
        assert went_on == pytest.approx(1 - drawn, abs=0.07)


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", proofs_of("flush"))
def test_flushes_that_fio_does_otherwise_are_told_and_refused_by_all(name, tmp_path):
    """The import, the proof and `ioplan fio`."""
    job, told = tmp_path / "j.fio", PROOFS[name].expected
    job.write_text(PROOFS[name].input)
    plain = ioplan("import", job, "-o", tmp_path / "j.ioplan")
    assert (plain.code, told in plain.err) == (bool(told), True), plain.err
    assert ("converted completely" in plain.out) is not bool(told)
    proven = ioplan("import", job, "--prove")
    assert proven.code == bool(told), proven.err
    assert ("not equal" in proven.err) is bool(told)
    run = ioplan("fio", job, "--parse-only", "--backend", "sim")
    assert (run.code, told in run.err) == (2 if told else 0, True), run.err


@pytest.mark.usefixtures("without_fio")
@pytest.mark.parametrize("name", proofs_of("files"))
def test_files_of_several_jobs_are_told_and_refused_by_all(name, tmp_path):
    job, files = tmp_path / "j.fio", PROOFS[name].expected
    job.write_text(PROOFS[name].input)
    told = f"on {files} files of its own"
    plain = ioplan("import", job, "-o", tmp_path / "j.ioplan")
    assert (told in plain.err) is bool(files), plain.err
    proven = ioplan("import", job, "--prove").err
    assert (f"files differs: {files} in the job" in proven) is bool(files), proven
    if files:
        assert plain.code == 1
        assert ioplan("fio", job, "--parse-only", "--backend", "sim").code == 2
