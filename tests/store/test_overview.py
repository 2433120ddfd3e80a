"""Sessions in few words, and the filters of what is listed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from figures import record
from pydantic import ValidationError
from sessions import session

from ioplan.records import Drive, RunDetail, Session, Verdict
from ioplan.results.store import SessionFilter, Store

FAST = Drive(serial="S4EV_1", model="ACME 9", firmware="1.0", lab_name="fast1")
SLOW = Drive(serial="S4EVX2", model="ACME 9", wwid="eui.0011")
HELD = Verdict(expectation="e", outcome="held", actual=2, limit=1, unit="1/s")


def made(number: int, **more: object) -> Session:
    return session(
        f"20261121-05000{number}-aaaa",
        **{"started_at": f"2026-11-21T05:00:0{number}.000+00:00", **more},
    )


SESSIONS = (
    made(
        1,
        drive=FAST,
        host_name="alpha",
        job="J1",
        tags=("nightly", "lab_2"),
        note="new cable",
        person="ada",
        status="ok",
        ended_at="2026-11-21T06:00:01.500+00:00",
    ),
    made(2, drive=SLOW, host_name="beta", job="J1", tags=("labx2",), plan="Other one"),
    made(3, target="/srv/a.bin", host_name="beta", status="failed"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("overview") / "results.db"
    outcomes = (("held", "failed", "undecided"), ("held", "undecided"), ("held",))
    with Store.open(path) as opened:
        for one, verdicts in zip(SESSIONS, outcomes, strict=True):
            opened.begin(one)
            for seq, outcome in enumerate(verdicts, 1):
                judged = HELD.model_copy(update={"outcome": outcome})
                made = record(seq, session=one.id, verdicts=(judged,))
                opened.add(made, RunDetail())
        yield opened


def test_a_session_comes_back_with_all_of_it(store: Store) -> None:
    assert store.sessions() == [*reversed(SESSIONS)]
    assert [store.session(one.id) for one in SESSIONS] == [*SESSIONS]


def test_an_overview_says_what_the_session_and_its_records_say(store: Store) -> None:
    found = store.overview()
    for one, whole in zip(found, store.sessions(), strict=True):
        same = ("plan", "plan_file", "status", "started_at", "ended_at", "backend")
        same += ("target", "host_name", "person", "job", "drive", "tags", "note")
        for name in ("id", "ioplan", *same):
            assert getattr(one, name) == getattr(whole, name)
        assert one.runs == store.count(one.id)
    assert [one.verdict for one in found] == ["undecided", "undecided", "failed"]
    assert found[-1].duration_s == 3600.5
    assert [one.drive_name for one in found] == ["/srv/a.bin", "S4EVX2", "fast1"]


@pytest.mark.parametrize(
    "wanted, numbers",
    [
        ({}, "321"),
        ({"limit": 2}, "32"),
        ({"limit": 0}, ""),
        ({"drive": "FAST1"}, "1"),
        ({"drive": "s4ev*"}, "21"),
        ({"drive": "s4ev"}, ""),
        ({"drive": "S4EV_*"}, "1"),  # `_` and `%` stand for themselves
        ({"drive": "eui.0011"}, "2"),
        ({"drive": "/srv/a.bin"}, "3"),
        ({"host": "beta"}, "32"),
        ({"host": "beta", "status": "failed"}, "3"),
        ({"plan": "other*"}, "2"),
        ({"job": "j1"}, "21"),
        ({"tag": "nightly"}, "1"),
        ({"tag": ("nightly", "lab_2")}, "1"),
        ({"tag": ("nightly", "labx2")}, ""),
        ({"tag": "lab_2"}, "1"),
        ({"tag": "ab_2"}, ""),
        ({"tag": "lab*"}, "21"),
        ({"verdict": "failed"}, "1"),
        ({"verdict": "undecided"}, "32"),
        ({"status": "running"}, "2"),
        ({"since": "2026-11-21T05:00:02"}, "32"),
        ({"text": "cable"}, "1"),
        ({"text": "OTHER"}, "2"),
        ({"text": "100%"}, ""),
    ],
)
def test_filters(store: Store, wanted: dict[str, object], numbers: str) -> None:
    found = store.overview(SessionFilter(**wanted))  # type: ignore[arg-type]
    assert [one.id for one in found] == [made(int(n)).id for n in numbers]


def test_it_is_one_query_however_many_there_are(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    with store.reading() as connection:
        kind = type(connection)
    rows = kind.rows
    monkeypatch.setattr(
        kind, "rows", lambda self, query, **v: asked.append(1) or rows(self, query, **v)
    )
    store.overview(SessionFilter(drive="fast1", tag="nightly", verdict="failed"))
    assert len(asked) == 1


@pytest.mark.parametrize("tag", ["", "two words", "a,b", 'a"b', "-x", "x" * 65])
def test_a_tag_is_one_word(tag: str) -> None:
    with pytest.raises(ValidationError, match="tags"):
        made(1, tags=(tag,))


def test_tags_are_a_set() -> None:
    assert made(1, tags=("b", "a", "b")).tags == ("a", "b")
