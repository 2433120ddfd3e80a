"""Every kind of error has one name, which is in use, in the manual and in JSON."""

import pytest
from command import ioplan, plan_file
from generated import check_part
from paths import ROOT

from ioplan import Cause
from ioplan.core.error_kinds import KINDS
from ioplan.job import Failure
from ioplan.records import Session
from ioplan.results.store import Store, StoreError

DOCUMENT = ROOT / "docs" / "errors.md"


def manual():
    for kinds in KINDS:
        assert kinds.__doc__
        yield f"\n{kinds.__doc__}\n\n| name | meaning |\n| --- | --- |\n"
        yield from (f"| `{kind}` | {kind.meaning} |\n" for kind in kinds)
    yield "\n"


@pytest.mark.promise("errors.names")
def test_the_manual_lists_all_names(renew):
    check_part(DOCUMENT, "kinds", "".join(manual()), renew)


# what programs see


@pytest.fixture
def plan(tmp_path, store_path):
    return plan_file(
        tmp_path, 'test "A" { run random 4KiB 50/50, region 0%..0.001% for 100ms }'
    )


def kinds(*arguments):
    return [line["kind"] for line in ioplan(*arguments, "--json").of("error")]


@pytest.mark.promise("errors.json")
def test_a_refused_command_names_its_error_in_json(plan):
    sim = ("--backend", "sim")
    assert kinds("run", plan, *sim, "--set", "nothing") == ["usage"]
    assert kinds("run", plan, "--backend", "nosuch") == ["backend"]
    assert kinds("run", plan, "--target", plan) == ["below-block"]
    for content, kind in ((bytes(8192), "no-consent"), (b"mine" * 2048, "data")):
        (file := plan.with_name("file")).write_bytes(content)
        assert kinds("run", plan, "--target", file) == [kind]
    assert kinds("run", plan, "--lab", plan) == ["lab-syntax"]
    assert kinds("run", plan, *sim, "--create", "64MiB") == ["misfit"]
    assert kinds("resume", "nosuch") == ["no-session"]
    plan.write_text("test")
    assert kinds("run", plan, *sim) == ["plan"]


@pytest.mark.promise("errors.json")
def test_a_failed_run_names_its_cause_in_json(plan, monkeypatch):
    plan.write_text('test "A" { run random 4KiB 50/50 for 100ms }')
    failure = Failure(cause=Cause.NO_IO, message="nobody is there")
    monkeypatch.setattr("ioplan_sim.execution.refusal", lambda *_: failure)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--json")
    (record,), (error,) = done.of("record"), done.of("error")
    assert record["record"]["cause"] == error["kind"] == "no-io"
    assert error["text"] == "A: nobody is there"
    assert [line["type"] for line in done.lines[-2:]] == ["error", "end"]


def test_an_ambiguous_session_is_told_from_an_unknown_one(store_path):
    with Store.open(store_path) as store:
        for id in ("aa1", "aa2"):
            one = Session(id=id, plan="p", started_at="t", backend="sim", target="x")
            store.begin(one)
        found: dict[str, str] = {}
        for key in ("aa", "bb"):
            with pytest.raises(StoreError) as caught:
                store.session(key)
            found[key] = caught.value.kind
    assert found == {"aa": "ambiguous-session", "bb": "no-session"}
