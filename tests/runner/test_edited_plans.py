"""One verdict: what all doors say of a session is of its plan as it is now."""

import pytest
from command import ioplan, plan_file
from faults import KILLED, Fault, Session, said
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from verdict_truths import truths_of

from ioplan.results.store import Store, push

pytestmark = pytest.mark.slow
SIM = ("--backend", "sim", "--create", "1GiB")

LINES = (
    "expect errors == 0",
    "expect iops > 1000",
    "expect iops > 100_000_000",
    "expect p50 < 1us",
    "expect p50 < 100ms",
    "expect iops >= 90% of baseline",
)
BODIES = ("random 4KiB 100/0, qd 4", "random 4KiB 100/0, qd 8", "random 8KiB 100/0")


def plan(*tests):
    """A plan of tests: title, what is run, and what is expected."""
    made = []
    for title, body, lines in tests:
        expected = "".join(f" {line}\n" for line in lines)
        made.append(f'test "{title}" {{\n run {body} for 1s\n{expected}}}\n')
    return "".join(made)


def run(path):
    return ioplan("run", path, *SIM)


def fresh(path, store):
    """The same plan in a session of its own."""
    return truths_of(run(path), store)


def edited(folder, store, before, after):
    """A session that went on with an edited plan, and one of that plan alone."""
    path = plan_file(folder, before)
    truths_of(run(path), store)
    path.write_text(after)
    return truths_of(ioplan("resume"), store), fresh(path, store)


ONE = ("t", BODIES[0], LINES[:1])
FAILS = ("t", BODIES[0], (LINES[0], LINES[3]))
EDITS = {
    "a limit": (plan(FAILS), plan(("t", BODIES[0], (LINES[0], LINES[4])))),
    "a limit that now fails": (plan(ONE), plan(FAILS)),
    "an expectation removed": (plan(FAILS), plan(ONE)),
    "all expectations removed": (plan(FAILS), plan(("t", BODIES[0], ()))),
    "another metric": (plan(FAILS), plan(("t", BODIES[0], (LINES[1],)))),
    "a test renamed": (plan(FAILS), plan(("u", BODIES[0], LINES[:1]))),
    "a renamed test that fails": (plan(ONE), plan(("u", *FAILS[1:]))),
    "a test removed": (plan(ONE, ("u", *FAILS[1:])), plan(ONE)),
    "titles swapped": (
        plan(ONE, ("u", BODIES[1], (LINES[3],))),
        plan(("u", *ONE[1:]), ("t", BODIES[1], (LINES[4],))),
    ),
    "a run changed": (plan(FAILS), plan(("t", BODIES[1], LINES[:1]))),
    "a test added": (plan(ONE), plan(ONE, ("u", BODIES[1], (LINES[3],)))),
    "without a baseline": (plan(FAILS), plan(("t", BODIES[0], (LINES[5],)))),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.promise("verdicts.edited", "resume.removed")
def test_an_edited_plan_has_the_verdict_of_a_new_session(edit, tmp_path, store_path):
    resumed, alone = edited(tmp_path, store_path, *EDITS[edit])
    assert resumed == alone


@pytest.mark.promise("verdicts.most_severe", "verdicts.everywhere")
def test_what_was_not_steady_is_one_verdict_everywhere(tmp_path, store_path):
    text = 'test "t" {\n run random 4KiB 0/100 for 1s\n expect errors == 0\n'
    text += " rounds until steady iops, at most 4, over 3, range 0.0001%\n}"
    assert truths_of(run(plan_file(tmp_path, text)), store_path).verdict == "undecided"
    goes_on = plan_file(tmp_path, f"on unsteady continue\n{text}", "b.ioplan")
    assert run(goes_on).code == 0


@pytest.mark.promise("verdicts.most_severe")
def test_an_ended_session_keeps_its_verdict_when_resumed_again(tmp_path, store_path):
    assert run(plan_file(tmp_path, plan(FAILS))).code == 1
    done = ioplan("resume")
    assert "nothing to resume" in done.out
    assert truths_of(done, store_path).verdict == "failed"


def test_a_state_that_the_plan_no_longer_has_is_no_doubt(tmp_path, store_path):
    never = "until steady iops every 1s, at most 1 passes, over 3, range 0.0001%"
    text = f"precondition p {{ write random 4KiB, {never} }}\n"
    prepared = text + plan(ONE).replace("{", "{ after p", 1)
    resumed, alone = edited(tmp_path, store_path, prepared, plan(ONE))
    assert resumed == alone and resumed.verdict == "held"


@pytest.mark.parametrize(
    "edit", ["a limit", "a test renamed", "an expectation removed"]
)
def test_what_was_shared_before_an_edit_is_mended(edit, tmp_path, store_path):
    before, after = EDITS[edit]
    path = plan_file(tmp_path, before)
    run(path)
    with Store.open(tmp_path / "shared.db") as shared:
        for text in (before, after):
            path.write_text(text)
            ioplan("resume")
            with Store.open(store_path) as store:
                list(push(store, shared))
                id = store.session("last").id
                assert [*shared.records(id)] == [*store.records(id)]
                verdict = store.verdict(id)
                assert shared.verdict(id) == verdict
    assert verdict == "held"


@pytest.mark.promise("verdicts.most_severe")
def test_a_kill_after_an_edit_leaves_nothing_held(tmp_path, store_path):
    """Once the plan is another one, nothing is known until it is judged again."""
    run(plan_file(tmp_path, plan(ONE)))
    with Store.open(store_path) as store:
        session = store.session("last")
        edited = session.model_copy(update={"status": "running", "ended_at": None})
        store.update_plan(edited, store.records(session.id))
        assert store.verdict(session.id) == "not measured"


TESTS = st.lists(
    st.tuples(
        st.sampled_from("tuv"),
        st.sampled_from(BODIES),
        st.lists(st.sampled_from(LINES[:5]), max_size=3, unique=True).map(tuple),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one[0],
)


@pytest.mark.long
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(st.tuples(TESTS, st.integers(1, 3)), min_size=2, max_size=4))
@pytest.mark.promise("verdicts.edited")
def test_edits_kills_and_resumes(steps, tmp_path_factory, monkeypatch):
    """Killed at the n-th record of a call; the last one is left in peace."""
    folder = tmp_path_factory.mktemp("edited")
    store, path = folder / "results.db", folder / "plan.ioplan"
    monkeypatch.setenv("IOPLAN_STORE", str(store))
    session = Session(path, store, SIM)
    for tests, number in steps[:-1]:
        path.write_text(plan(*tests))
        Fault(KILLED, said("record", number)).happen(session)
    path.write_text(plan(*steps[-1][0]))
    assert truths_of(ioplan("resume"), store) == fresh(path, store)
