"""A desk in a folder, and people who call its pages, without a server."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from figures import run
from sessions import session
from starlette.testclient import TestClient

from ioplan import ClusterFault
from ioplan.records import Drive, Telemetry
from ioplan.results.store import Store
from ioplan.runner import Lab, read_lab
from ioplan.runner.guard import Surveyed
from ioplan.runner.host import reported
from ioplan_lab import (
    PROGRAMS,
    TABLES,
    Desk,
    DeskDatabase,
    Drives,
    LaneCall,
    LaneState,
    Queue,
    QueueEntry,
    Role,
    Runner,
    create_app,
    stamp,
)
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.reporting import enter, reporting, unreported
from ioplan_lab.commands.desk import working
from ioplan_lab.commands.jobs.executor import connect
from ioplan_lab.desk.calls import Calls
from ioplan_lab.desk.hooks.deliver import Deliverer
from ioplan_lab.desk.hooks.hooks import Hooks, announce
from ioplan_lab.desk.people.oidc import Provider, read_settings
from ioplan_lab.desk.queue.decide import Decision, Quota, Quotas, decisions
from ioplan_lab.desk.queue.drives import DriveStates
from ioplan_lab.desk.queue.entry import Entry, entry_of, row_of
from ioplan_lab.desk.queue.health_checks import HealthChecks
from ioplan_lab.desk.queue.permissions import Projects
from ioplan_lab.desk.queue.runner import JobStarter, StartError, alone
from ioplan_lab.desk.running import Running
from ioplan_lab.desk.schedules import schedule
from ioplan_lab.desk.selection import targets_on
from ioplan_lab.desk.surveyed import keep_surveys
from ioplan_lab.desk.tags import DriveTags
from ioplan_lab.desk.web import server
from ioplan_lab.desk.work import repeat
from ioplan_lab.workers.reporter import Reporter

URL = "http://localhost"
FIELD = re.compile(r'name="form_token" value="([^"]+)"')


@contextmanager
def desk_in(
    folder: Path,
    lab: Path | None = None,
    tls: bool = False,
    results: str | None = None,
    store: Path | None = None,
    oidc: Path | None = None,
) -> Iterator[Desk]:
    """A desk with a person of each role, called as the role is.

    `results` is the database that the lab shares, `store` this host's; `oidc` has the
    settings of a provider.
    """
    local = store or folder / "results.db"
    desk = Desk(
        store=Store.at(results or local),
        place=results or str(local),
        lab_file=lab,
        folder=folder / "desk",
        database=DeskDatabase.at(results, folder / "desk", TABLES),
        running=Running(local, connect),
        calls=Calls(PROGRAMS.cli, {"IOPLAN_STORE": str(local)}),
        tls=tls,
        oidc=Provider(read_settings(oidc)) if oidc else None,
    )
    with desk:
        yield desk


def token_of(desk: Desk, role: str) -> str:
    """A token of the person who is called as the role is; added if missing."""
    if role not in [one.name for one in desk.people.everyone()]:
        return desk.people.add(role, Role(role))
    return desk.people.new_token(role)


def client(desk: Desk, address: str = "192.0.2.1") -> TestClient:
    """A browser that nobody is signed in with; it does not follow redirects."""
    base = URL.replace("http", "https") if desk.tls else URL
    return TestClient(
        create_app(desk),
        base_url=base,
        follow_redirects=False,
        client=(address, 50000),
        raise_server_exceptions=False,
    )


def form_token(page: str) -> str:
    """What a page's forms repeat."""
    found = FIELD.search(page)
    assert found, page
    return found[1]


def signed_in(desk: Desk, role: str) -> TestClient:
    """A browser that the person of a role is signed in with."""
    browser = client(desk)
    page = browser.get("/sign-in").text
    data = {"token": token_of(desk, role), "form_token": form_token(page)}
    done = browser.post("/sign-in", data=data)
    assert done.status_code == 303, done.text
    return browser


def by_token(desk: Desk, role: str) -> TestClient:
    """A program with a token of a role."""
    found = client(desk)
    found.headers["Authorization"] = f"Bearer {token_of(desk, role)}"
    return found


def sent(browser: TestClient, path: str, **fields: Any) -> Any:
    """The answer to a form, as a browser sends it."""
    token = form_token(browser.get("/").text)
    return browser.post(path, data={"form_token": token, **fields})


def page_after(browser: TestClient, path: str, **fields: Any) -> str:
    """The page that a form leads to."""
    answer = sent(browser, path, **fields)
    if answer.status_code == 303:
        return browser.get(answer.headers["location"]).text
    return str(answer.text)


@contextmanager
def listening(
    desk: Desk,
    certificate: Path | None = None,
    key: Path | None = None,
    patience_s: float = server.HEADER_S,
) -> Iterator[int]:
    """The desk's server in a thread; its port."""

    class InThread(server.Server):
        """Signals are the main thread's."""

        capture_signals = nullcontext  # type: ignore[assignment]

    ready, place = threading.Event(), server.Place("127.0.0.1", 0, certificate, key)
    with (
        pytest.MonkeyPatch.context() as patch,
        socket.create_server(("127.0.0.1", 0)) as listening,
    ):
        patch.setattr(server, "HEADER_S", patience_s)
        made = InThread(server.config_of(create_app(desk), place))
        made.on_ready = ready.set
        thread = threading.Thread(target=made.run, args=([listening],), daemon=True)
        thread.start()
        assert ready.wait(20)
        yield listening.getsockname()[1]
        made.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


# ---- what hosts, people and the clock do to a desk


def queued(desk: Desk, *drives: str, person: str = "ada", plan: str = "plan") -> int:
    """What a person adds to the queue; its number."""
    return desk.queue.add(QueueEntry(person, plan, {"p": ""}, drives[0], drives))


def ended(desk: Desk, outcome: str = "ok", *drives: str) -> None:
    """A plan is queued, started and ends, and web hooks are told."""
    queued(desk, *(drives or ("a",)))
    queue = Queue(desk.database, announce)
    taken = queue.take("desk")
    assert taken
    queue.end(taken, outcome)


def stored(
    desk: Desk, id: str, at: str, drive: Drive, smart: Any = None, **more: Any
) -> None:
    """A session of one run on host h1, with the SMART log after it."""
    desk.store.begin(session(id, started_at=at, drive=drive, **more))
    log = smart is not None and Telemetry(covered_s=1, intervals=1, smart_after=smart)
    desk.store.add(*run(1, session=id, telemetry=log or None))
    desk.store.finish(id, "ok", at)


def hosts_report(desk: Desk, host: str, *rows: Surveyed) -> None:
    """A host says which drives it has."""
    keep_surveys(desk.database, {host: rows})


def time_passes(desk: Desk) -> None:
    """Whatever is due is done: schedules, then deliveries of web hooks."""
    schedule.Schedules(desk.database).turn()
    Deliverer(Hooks(desk.database)).turn()


def chosen(desk: Desk, text: str, person: str = "ada") -> list[str]:
    """The drives that `--on` takes of the lab. Raises DeskError."""
    lab = read_lab(desk.lab_file)
    return targets_on(text, lab, desk.store, desk.database, desk.busy(), person)


def limit(desk: Desk, whom: str, **quota: float) -> None:
    """A quota of drives or hours of a person, a @project or everybody, "*"."""
    Quotas(desk.database).set(whom, Quota(**quota))


def project(desk: Desk, name: str, add: Sequence[str], remove: Sequence[str]) -> None:
    """People of a project, and those no longer."""
    Projects(desk.database).change(name, add, remove)


def permit(desk: Desk, tag: str, add: Sequence[str], remove: Sequence[str]) -> None:
    """Who may use drives of a tag, and who no longer."""
    Projects(desk.database).permit(tag, add, remove)


def tag(desk: Desk, drive: str, *tags: str) -> None:
    """Tags of a drive, as an admin gives them."""
    DriveTags(desk.database).change([drive], tags)


def decided(rows: Sequence[tuple[Iterable[str], str, int, str]]) -> list[Decision]:
    """What a queue decides of drives, person, priority and state of each entry."""
    entries = []
    for number, (drives, person, priority, state) in enumerate(rows):
        made = QueueEntry(person, "plan", {"p": ""}, "t", tuple(sorted(drives)))
        more = {"priority": priority, "state": state}
        entries.append(entry_of(row_of(made, number, stamp()) | more))
    return decisions(entries, DriveStates(out={}), {}, stamp())


def judged(desk: Desk) -> dict[str, str]:
    """What is out of service, and why, once results are judged by a desk that has
    just begun."""
    lab = partial(read_lab, desk.lab_file)
    HealthChecks(desk.store, desk.database, lab).turn()
    return out_of_service(desk)


def out_of_service(desk: Desk) -> dict[str, str]:
    """Drives, and why."""
    out = Drives(desk.database).states().out
    return {name: one.text for name, one in out.items()}


def host_says(
    rows: Iterable[Surveyed], logs: dict[str, dict[str, float]]
) -> list[dict[str, float]]:
    """The SMART logs that a host reports of its devices, of those that each has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reported, "survey", lambda lab: rows)
        patch.setattr(
            reported,
            "Smart",
            lambda path: SimpleNamespace(smart_log=lambda: logs[path]),
        )
        return [one.smart for one in reported.reported(Lab())]


class Hosts:
    """Hosts of a lab that a desk asks for their drives: `drives` is what each answers,
    those in `away` do not, and those in `busy` have a lane."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns = working.HostDrives(desk.database, desk.lab_file)
        self.asked: list[list[str]] = []
        self.away: set[str] = set()
        self.busy: set[str] = set()
        self.drives: list[Surveyed] = []
        self.now_s = 0.0
        monkeypatch.setattr(working, "surveys", self._surveys)
        monkeypatch.setattr(working.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(working, "lanes_now", self._lanes)

    def _surveys(self, lab: Lab, programs: object, hosts: list[str]) -> Any:
        self.asked.append(list(hosts))
        fault = ClusterError("no answer", ClusterFault.HOST_UNREACHABLE)
        answers = {one: self.drives for one in hosts if one not in self.away}
        return answers, {one: fault for one in hosts if one in self.away}

    def _lanes(self, database: object) -> list[Any]:
        return [SimpleNamespace(state=SimpleNamespace(host=one)) for one in self.busy]

    def after(self, seconds: float) -> list[list[str]]:
        """Which hosts are asked then. Raises ExplainedError."""
        self.asked, self.now_s = [], self.now_s + seconds
        self.turns.turn()
        return self.asked


@contextmanager
def schedules_at(moment: str) -> Iterator[None]:
    """The time is this one where schedules are made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "stamp", lambda: moment)
        yield


def start_what_waits(desk: Desk) -> None:
    """One turn of what starts plans, as jobs of their own."""
    store = Path(desk.place)
    starter = JobStarter(PROGRAMS.cli, desk.lab_file, store, desk.folder, connect)
    Runner(desk.queue, starter, "here", print).turn()


def works_in(folder: Path) -> AbstractContextManager[None]:
    """A desk works with this folder. Raises DeskError where another one does."""
    return alone(folder)


def works_until(turn: Callable[[], bool]) -> list[str]:
    """What a desk says whose work is this, until it returns whether that is done."""
    said, done = list[str](), threading.Event()

    def once() -> None:
        if turn():
            done.set()

    repeat(once, done, said.append, look_s=0)
    return said


def make_due(desk: Desk, table: str, at: str) -> None:
    """All deliveries or schedules are due since then."""
    with desk.database.writing() as connection:
        connection.change(f"UPDATE {table} SET next_at = :at", {"at": at})


JOB = "20261125-120000-abcdef"


def call_of(number: int, **more: Any) -> LaneCall:
    """A lane of a job on host h1."""
    fields: dict[str, Any] = {
        "job": JOB,
        "session": f"{JOB}-{number:03}",
        "target": f"d{number}",
        "host": "h1",
        "plan": "plan/p.ioplan",
        "files": {"plan/p.ioplan": "x"},
        "lab": "",
        "title": "Plan",
        "where": "all",
        "drive": f"SERIAL{number}",
    }
    return LaneCall(**fields | more)


def state_of(call: LaneCall, **more: Any) -> LaneState:
    """How that lane is, as its host says."""
    same = {name: getattr(call, name) for name in ("job", "session", "target", "host")}
    return LaneState(**same, **more)


class LaneReports:
    """What a host's reporter does with the states of its lanes in a folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.reporter = root, Reporter(root)

    def all_told(self) -> bool:
        """Whether the database knows everything now; only one process may tell it."""
        with reporting(self.root) as free, reporting(self.root) as second:
            assert (free, second) == (True, False)
        return not self.reporter.turn()

    @property
    def left(self) -> list[str]:
        """The lanes that are yet to be told of."""
        return unreported(self.root)

    def add(self, session: str) -> None:
        """One more, of which there may be nothing."""
        enter(self.root, session)


class Starts:
    """A starter of what is queued that remembers; `refused` it does not start."""

    def __init__(self) -> None:
        self.jobs: dict[int, str] = {}
        self.refused: set[int] = set()
        self.ended: dict[int, str] = {}
        self.stopped: list[int] = []

    def is_started(self, entry: Entry) -> bool:
        return entry.number in self.jobs

    def start(self, entry: Entry) -> None:
        if entry.number in self.refused:
            raise StartError("no consent")
        assert self.jobs.setdefault(entry.number, entry.job) == entry.job

    def outcome(self, entry: Entry) -> str | None:
        return self.ended.get(entry.number)

    def stop(self, entry: Entry) -> None:
        self.stopped.append(entry.number)
        self.ended[entry.number] = "stopped"
