"""Formats of what commands write: one table, and names of files that fit."""

import csv
import io
import json
import re

import pyarrow.parquet
import pytest
from command import ioplan, plan_file, refuse

from ioplan.results.store import Store

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.mark.parametrize(
    ("format", "name", "fits"),
    [
        ("text", "x.html", False),
        ("json", "x.HTM", False),
        ("html", "x.html", True),
        ("text", "x.txt", True),
        ("text", "x.csv", True),  # none of these writes it
        ("html", "x.json", False),
        ("text", "x", True),
        ("text", "x.parquet", True),
        ("text", "-", True),
    ],
)
def test_a_name_that_is_of_another_format_is_refused(
    format, name, fits, titled, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = ioplan("history", "--format", format, "-o", name, "--store", titled)
    assert done.code == (0 if fits else 2), done.err
    said = f"the format is {format}: add --format"
    assert (said in " ".join(done.err.split())) is not fits


@pytest.mark.parametrize("command", ["export", "compare", "history"])
def test_each_format_that_is_offered_is_written(command, titled, tmp_path):
    store = ("--store", titled)
    rows = ioplan("ls", "--format", "jsonl", *store).lines
    words = (command, *([one["id"] for one in rows] if command == "compare" else ()))
    near = " ".join(ioplan(*words, "--format", "jsn", *store).err.split())
    offered = re.findall(r"[a-z]+", near.partition("it is one of")[2])
    assert "json" in offered
    for format in offered:
        out = tmp_path / format
        done = ioplan(*words, "--format", format, "-o", out, *store)
        assert done.code in (0, 1) and out.stat().st_size, (format, done)


def test_commands_name_the_format_that_is_meant(tmp_path, store_path):
    for _ in range(2):
        ioplan("run", plan_file(tmp_path, READS), "--backend", "sim", "--quiet")
    for command, name in (
        (("history",), "x.html"),
        (("compare", "last", "--to", "last"), "x.md"),
        (("export",), "x.parquet"),
        (("show", "last", "--format", "csv"), "x.json"),
        (("ls", "--format", "csv"), "x.jsonl"),
    ):
        refuse("add --format", *command, "-o", tmp_path / name)
        assert not (tmp_path / name).exists()
        words = (
            command[: command.index("--format")] if "--format" in command else command
        )
        near = refuse("'jsn', did you mean 'json", *words, "--format", "jsn")
        assert "it is one of" in " ".join(near.err.split())


@pytest.fixture(scope="module")
def titled(tmp_path_factory):
    """A store of two sessions with a title that is a script."""
    folder = tmp_path_factory.mktemp("titled")
    plan = plan_file(folder, READS.replace("T", "<script>alert(1)</script>", 1))
    store = folder / "s.db"
    for _ in range(2):
        words = ("--backend", "sim", "--quiet", "--store", store)
        assert ioplan("run", plan, *words).code == 0
    return store


@pytest.mark.parametrize(
    "words",
    [
        ("ls", "--format", "csv"),
        ("show", "last", "--format", "json"),
        ("export", "--format", "jsonl"),
        ("compare", "last", "--to", "last"),
        ("compare", "last", "--to", "last", "--format", "markdown"),
        ("history", "--format", "json"),
        ("history",),
    ],
)
def test_no_title_becomes_a_script(words, titled, tmp_path):
    for name in ("x.html", "x.HTM", "x.svg", "x.xhtml"):
        done = ioplan(*words, "-o", tmp_path / name, "--store", titled)
        assert done.code == 2, done.out
        assert "choose another name" in " ".join(done.err.split())
        assert not (tmp_path / name).exists()


def test_a_history_is_written_as_its_name_says(tmp_path, store_path):
    plan = plan_file(tmp_path, READS.replace("T", "<b>T & U</b>", 1))
    assert ioplan("run", plan, "--backend", "sim", "--quiet").code == 0
    page = tmp_path / "x.html"
    assert ioplan("history", "--format", "html", "-o", page).code == 0
    text = page.read_text()
    assert text.startswith("<!") and "&lt;b&gt;T &amp; U&lt;/b&gt;" in text
    assert "<b>T" not in text


# tags and notes: given to a run, or later, and where they are seen

PLAN = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2
}
"""
CALL = ("--backend", "sim", "--create", "1GiB", "--quiet")
NOTE = "the new cable, 2 m"


def last(store):
    with Store.open(store) as opened:
        return opened.session("last")


def test_a_run_keeps_them_everywhere(tmp_path, store_path):
    plan = plan_file(tmp_path, PLAN)
    words = ("--tag", "nightly", "--tag", "lab2", "--tag", "nightly", "--note", NOTE)
    assert ioplan("run", plan, *CALL, *words, "--person", "ada").code == 0
    made = last(store_path)
    assert (made.tags, made.note, made.person) == (("lab2", "nightly"), NOTE, "ada")
    assert f"by ada; tags lab2, nightly; {NOTE}" in ioplan("show").out
    (record,) = [json.loads(ioplan("export").out)["session"]]
    assert (record["tags"], record["note"]) == (["lab2", "nightly"], NOTE)
    rows = list(csv.DictReader(io.StringIO(ioplan("export", "--format", "csv").out)))
    assert {(row["tags"], row["note"], row["person"]) for row in rows} == {
        ("lab2 nightly", NOTE, "ada")
    }
    assert {row["drive_serial"] for row in rows} == {"SIMF68C79D8"}
    file = tmp_path / "runs.parquet"
    ioplan("export", "--format", "parquet", "-o", file)
    assert set(pyarrow.parquet.read_table(file)["tags"].to_pylist()) == {"lab2 nightly"}
    ioplan("report", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "lab2, nightly" in page and NOTE in page and "Started by" in page


def test_they_may_be_given_later_and_resume_keeps_them(tmp_path, store_path):
    plan = plan_file(tmp_path, PLAN)
    ioplan("run", plan, *CALL, "--tag", "nightly")
    told = ioplan("tag", "last", "good", "best", "--remove", "nightly", "--note", NOTE)
    assert told.out == f"{last(store_path).id}: best good\n{NOTE}\n"
    plan.write_text(PLAN.replace("1, 2", "1, 2, 4"))
    assert ioplan("resume", "--quiet").code == 0
    made = last(store_path)
    assert (made.tags, made.note) == (("best", "good"), NOTE)
    with Store.open(store_path) as store:
        events = [one.text for one in store.events(made.id) if one.kind == "tagged"]
        assert events == ["+best +good -nightly note"]
        assert store.count(made.id) == 3
    assert ioplan("tag").out == told.out  # it only tells
    wrong = ioplan("tag", "last", "--remove", "nightly")
    assert (wrong.code, "has no tag 'nightly'; it has: best, good" in wrong.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (("run", "PLAN", "--tag", "two words"), "--tag takes one word"),
        (("run", "PLAN", "--note", "x" * 2001), "--note takes at most 2000 characters"),
        (("tag", "last", "a,b"), "ioplan tag takes one word"),
    ],
)
def test_what_is_no_word_is_refused_before_anything_runs(
    words, said, tmp_path, store_path
):
    plan = str(plan_file(tmp_path, PLAN))
    refuse(said, *(plan if word == "PLAN" else word for word in words))
    assert not store_path.exists()
