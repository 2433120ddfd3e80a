"""Each field of RunRequest is known wherever a run is asked for, or kept."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file, program, refuse, succeed
from paths import ROOT
from run_requests import full_request
from sessions import session

from ioplan.cli import requested_plan
from ioplan.cli.commands.resume import ResumeOptions, _call
from ioplan.cli.commands.share.unbundle import ONLY_HERE, _with_values
from ioplan.records import Resolved, RunRequest
from ioplan.records.run_request import OPTIONS
from ioplan.results import Bundled, bundle_bytes, read_bundle
from ioplan.results.share.bundle import LOCAL
from ioplan.results.store import Store, default_path
from ioplan.runner import signed
from ioplan_lab import JobFolder, drive_jobs_root, submission

TABLE = ROOT / "dsl/ioplan/cli/interface/request_options.py"
HEAD = '''"""Options of a request: `pytest --renew` writes them, from RunRequest's fields.

A table, because help and completion do without pydantic.
"""

from __future__ import annotations

from ioplan.cli.interface.declare import Parameter, flag, option

REQUEST_OPTIONS: dict[str, Parameter] = {
'''


def declared(name):
    """The line of an option, as Python."""
    one, default = OPTIONS[name], RunRequest.model_fields[name].default
    given: dict[str, Any] = {
        "key": name,
        "values": one.values,
        "kind": {float: "number"}.get(type(default), ""),
        "many": default == (),
        "default": default if isinstance(default, str | float) else None,
        "hidden": not one.help,
    }
    if name == "lab":
        given["kind"] = "path"
    call = "flag" if default is False else "option"
    words = (
        [one.name, one.help, one.metavar] if call == "option" else [one.name, one.help]
    )
    if call == "flag":
        given["default"] = None
    more = [
        f"{key}={value!r}"
        for key, value in given.items()
        if value not in (None, "", False)
    ]
    if isinstance(default, str) and default == "":
        more.append("default=''")
    return f"{name!r}: {call}({', '.join([*map(repr, words), *more])}),"


@pytest.mark.slow
def test_the_table_of_options_is_made_of_the_model(renew):
    text = HEAD + "\n".join(map(declared, RunRequest.model_fields)) + "\n}\n"
    ruff = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(TABLE)]
    wanted = program(*ruff, input=text, check=True).stdout
    if renew:
        TABLE.write_text(wanted)
    assert TABLE.read_text() == wanted, "pytest --renew writes it"


# every field, in every place

FULL = full_request()
FIELDS = {*RunRequest.model_fields}
ONCE = {
    "overwrite_data": "a person permits it each time",
    "fresh": "what the session has prepared since holds",
    "within": "what there was no time for is measured",
}
"""What `resume` does not take up, and why."""
QUEUED = {
    "lab": "each host has its own lab file",
    "targets": "drives of hosts, which the job names itself",
    "person": "who has logged in",
}
"""What a job of the lab does not take up from a request, and why."""


def differing(one, other):
    return {name for name in FIELDS if getattr(one, name) != getattr(other, name)}


def in_a_store(folder):
    made = session(request=FULL)
    with Store.open(folder / "s.db") as store:
        store.begin(made)
        return store.session(made.id).request


def in_resume(folder):
    plan = folder / "p.ioplan"
    plan.write_text("test")
    known = Resolved(plan=str(plan), target_key="k")
    made = signed(session(request=FULL, resolved=known, backend=FULL.backend))
    call = _call(made, ResumeOptions(session=made.id, store=folder / "s.db"))
    return call.request


def in_the_queue(folder):
    plan = requested_plan(plan_file(folder, PLAN), RunRequest())
    made = submission("j", plan, FULL, [{"host": "h1", "name": "a"}])
    return RunRequest.model_validate_json(json.dumps(made["request"]))


def in_a_drive_job(folder):
    """Of this host: with all that `run` takes for several targets."""
    lab, plan = folder / "lab.toml", plan_file(folder, IN_FULL)
    lab.write_text(LAB)
    asked = FULL.model_copy(update={**OWN, "lab": lab, "targets": ("a",)})
    words = [word for name in FIELDS for word in words_of(name, getattr(asked, name))]
    succeed("run", plan, "--detach", *words)
    (file,) = drive_jobs_root(default_path()).glob("*/*/call.json")
    folder = file.parent
    while not JobFolder(folder).state().ended:
        time.sleep(0.05)
    told = RunRequest.model_validate_json((folder / "request.json").read_bytes())
    assert JobFolder(folder).call().request == told
    return told.model_copy(update={name: getattr(FULL, name) for name in OWN})


OWN: dict[str, Any] = {"lab": None, "targets": (), "baseline": None, "backend": "sim"}
"""What names something that has to be there."""
IN_FULL = """param other = 2
profile other { other = 3 }
test "other=1" { run random 4KiB 100/0, qd other for 400ms }
"""


def words_of(name, value):
    """A field as words of the command line."""
    if value in (None, False, ()):
        return []
    if value is True:
        return [OPTIONS[name].name]
    values = value if isinstance(value, tuple) else (value,)
    return [word for one in values for word in (OPTIONS[name].name, str(one))]


def in_a_bundle(folder):
    return sent(folder).session.request


def sent(folder):
    """A session without runs, as others get it."""
    made = Bundled(session(request=FULL, plan_text="", backend="fio"), (), ())
    bundle = folder / "x.ioplan-bundle"
    bundle.write_bytes(bundle_bytes((made,), b""))
    return read_bundle(bundle).sessions[0]


PLACES: dict[Callable[[Path], RunRequest], set[str]] = {
    lambda _: RunRequest(): FIELDS,
    in_a_store: set(),
    in_resume: {*ONCE},
    in_the_queue: {*QUEUED},
    in_a_drive_job: set(),
    in_a_bundle: {*LOCAL},
}
"""Where a request is kept or told, and what is not that place's."""


PARAMETERS = [
    pytest.param(place, marks=[pytest.mark.slow] * (place is in_a_drive_job))
    for place in PLACES
]


@pytest.mark.usefixtures("store_path")
@pytest.mark.parametrize("place", PARAMETERS)
def test_each_field_is_there(place, tmp_path):
    assert differing(place(tmp_path), FULL) == PLACES[place]


def test_a_run_of_a_bundle_takes_up_what_is_not_its_host_s(tmp_path):
    again = _with_values(RunRequest(), sent(tmp_path), Path("p.ioplan"))
    taken = FIELDS - ONLY_HERE - {"settings"}  # those are its params, by name
    assert differing(again, RunRequest()) == taken


# what a person says, done

PLAN = 'test "T" { run random 4KiB 100/0 for 400ms vary qd in 1 }'
LAB = """backend = "sim"
[targets.a]
path = "/sim/a"
[groups]
both = ["a"]
"""
WORDS = ("--interval", "50ms", "--tag", "nightly", "--note", "of two words")


def check_done(store_path, runs=1):
    """The newest session has all that was asked for, and its runs their intervals."""
    with Store.open(store_path) as store:
        found = store.session("last")
        records = list(store.records(found.id))
        assert len(records) == runs
        for record in records:
            series = store.detail(found.id, record.seq).series
            lengths = [round(one.length_s, 3) for one in series]
            assert lengths == [0.05] * 8
    asked = found.request
    assert asked.interval == "50ms"
    assert (found.tags, found.note) == (("nightly",), "of two words")
    return found


def on_sim(tmp_path):
    target = ("--backend", "sim", "--target", "x", "--create", "1GiB")
    return plan_file(tmp_path, PLAN), (*target, *WORDS, "--option", drive(tmp_path))


def drive(tmp_path):
    """An option of the simulated drive."""
    file = tmp_path / "drive.toml"
    file.write_text('model = "own"\n')
    return f"drive={file}"


def test_an_option_works_in_run_and_in_resume(tmp_path, store_path):
    plan, words = on_sim(tmp_path)
    assert ioplan("run", plan, *words).code == 0
    assert check_done(store_path).request.options == (drive(tmp_path),)
    plan.write_text(PLAN.replace("qd in 1", "qd in 1, 2"))
    succeed("resume")
    assert "own" in check_done(store_path, runs=2).resolved.drive_file


@pytest.mark.parametrize("word", ["soon", "1ms", "2h", "4KiB"])
def test_an_interval_is_a_time(tmp_path, word):
    refuse("--interval", "run", plan_file(tmp_path, PLAN), "--interval", word)


# several targets in one call


def targets_of(store_path):
    """The targets of all sessions."""
    with Store.open(store_path) as store:
        return sorted(store.session(id).target for id in store.ids())


@pytest.mark.long
def test_several_targets_are_a_group_also_without_a_lab(tmp_path, store_path):
    plan = plan_file(tmp_path, PLAN)
    files = [tmp_path / name for name in ("a.bin", "b.bin", "a.bin")]
    words = [word for file in files for word in ("--target", file)]
    succeed("run", plan, *words, "--create", "8MiB", *WORDS)
    assert targets_of(store_path) == [str(file) for file in files[:2]]
    with Store.open(store_path) as store:
        (first, second) = (store.session(id) for id in store.ids())
    assert first.job == second.job and first.note == second.note == "of two words"


@pytest.mark.slow
def test_names_and_groups_are_one_group(tmp_path, store_path):
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, PLAN)
    lab.write_text(f'{LAB}[targets.b]\npath = "/sim/b"\n')
    sim = ("--lab", lab, "--create", "1GiB")
    done = ioplan(
        "run", plan, "--target", "b", "--target", "both", "--target", "b", *sim
    )
    assert done.code == 0 and "2 drive jobs" in done.out, done.err
    assert targets_of(store_path) == ["a", "b"]


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        (("a", "c"), "--target c: there is no such file or device"),
        (("a", "fastt"), "the lab has no target 'fastt', did you mean 'fast'?"),
        (("a", "b", "again"), "--target: a and again are the same drive"),
        (("a", "/x/a"), "--target: a and /x/a are the same drive"),
    ],
)
def test_of_several_targets_each_must_be_one(tmp_path, store_path, targets, text):
    lab, plan = tmp_path / "lab.toml", plan_file(tmp_path, PLAN)
    names = {"a": "/x/a", "b": "/x/b", "again": "/x/a", "fast": "/x/f"}
    entries = (f'[targets.{one}]\npath = "{path}"\n' for one, path in names.items())
    lab.write_text("".join(entries))
    words = [word for one in targets for word in ("--target", one)]
    create = ("--create", "8MiB") if "/" in targets[-1] else ()
    refuse(text, "run", plan, "--lab", lab, *words, *create)
    assert not drive_jobs_root(store_path).exists()
