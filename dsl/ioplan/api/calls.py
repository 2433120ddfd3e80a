"""`ioplan.check`, `ioplan.run` and `ioplan.sessions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.api.session import Session
from ioplan.cli.commands.ls import listed
from ioplan.cli.commands.run import SessionStart, run_session
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import checked_text, plan_path
from ioplan.cli.run_options import RunCall, requested, requested_plan
from ioplan.cli.sessions.selection import only_tests
from ioplan.cli.sessions.session_filter import Words, filter_of
from ioplan.cli.sessions.stores import place_of_results
from ioplan.core.text import did_you_mean
from ioplan.language.lints.warnings import warnings_of
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.source import Source
from ioplan.records.run_request import RunRequest
from ioplan.records.session_id import new_session_id
from ioplan.results.store.store import Store, default_path
from ioplan.runner.lab.cross_references import is_fleet
from ioplan.runner.lab.lab_file import read_lab

# A checked plan.

UNNAMED = Path("plan.ioplan")
"""What a plan without a file is called; files that it uses are found beside it."""


class Plan(Struct, frozen=True):
    """A plan without errors; `checked` has all of it.

    `origin` is the plan's file, or the plan itself.
    """

    origin: Path | str
    checked: CheckedPlan

    @property
    def title(self) -> str:
        """The plan's own title, else its file's name."""
        return self.checked.title

    @property
    def text(self) -> str:
        """The plan as it is written."""
        return self.checked.text

    @property
    def tests(self) -> tuple[str, ...]:
        """The titles of the tests, in order."""
        return tuple(test.title for test in self.checked.tests)

    @property
    def params(self) -> Mapping[str, str]:
        """The params that are in use, with their values."""
        return self.checked.parameters

    @property
    def warnings(self) -> tuple[str, ...]:
        """What `ioplan check` warns of, each with its place in the plan."""
        return tuple(one.render() for one in warnings_of(self.checked))

    @property
    def file(self) -> Path:
        """The plan's file; of a text, a name."""
        return self.origin if isinstance(self.origin, Path) else UNNAMED


def origin_of(plan: str | Path) -> Path | str:
    """A file or the name of a suite, unless it has lines or blocks as a plan has."""
    if isinstance(plan, Path) or not ("\n" in plan or "{" in plan):
        return plan_path(Path(plan))
    return plan


def checked(origin: Path | str, request: RunRequest) -> Plan:
    """The plan with what is asked of it. Raises PlanError, UsageError."""
    if isinstance(origin, Path):
        return Plan(origin, requested_plan(origin, request))
    asked: dict[str, Any] = {"profile": request.profile, "lab": request.lab}
    asked |= {"settings": request.settings, "time_scale": request.scale_time}
    asked |= {"library": False}
    found = checked_text(Source(str(UNNAMED), origin), UNNAMED, **asked)
    return Plan(origin, only_tests(found, request.tests))


SINGULAR = {"target": "targets", "test": "tests", "tag": "tags"}
"""Words for one, as the options of `ioplan run` are called."""


def check(
    plan: str | Path,
    *,
    params: Mapping[str, object] | None = None,
    profile: str | None = None,
    lab: Path | None = None,
) -> Plan:
    """Check a plan: a file, the name of a suite, or the text itself.

    Raises PlanError, whose text has all errors with their places, and UsageError.
    """
    asked = _request({"profile": profile, "lab": lab}, params)
    return checked(origin_of(plan), asked)


def run(
    plan: Plan | str | Path,
    *,
    params: Mapping[str, object] | None = None,
    store: str | PathLike[str] | None = None,
    quiet: bool = True,
    **request: Any,
) -> Session:
    """Run a plan on one target, and wait for its end.

    `request` has the options of `ioplan run` with underscores: target, create,
    backend, overwrite, test, profile, scale_time, tag, note, baseline. What is
    written is guarded in the same way. Failed expectations and failed runs are in the
    session: see `held`, `why` and `exit_code`. Without `quiet`, it prints what the
    command prints. Raises PlanError, and ExplainedError where nothing could be run.
    """
    asked = _request(request, params)
    if is_fleet(read_lab(asked.lab), asked.targets):
        raise UsageError(
            "a group of the lab has a session for each drive: start it with "
            "`ioplan run`, and read its sessions with ioplan.sessions(job=…)"
        )
    origin = plan.origin if isinstance(plan, Plan) else origin_of(plan)
    found = checked(origin, asked)
    path = Path(store or default_path())
    call = RunCall(request=asked, plan=found.file, store=path, quiet=quiet)
    start = SessionStart(new_session_id())
    with Store.open(path) as opened:
        code = run_session(found.checked, call, opened, start)
    return Session(path, start.id, code)


def sessions(
    store: str | PathLike[str] | None = None,
    *,
    tag: str | Sequence[str] = (),
    **words: Any,
) -> list[Session]:
    """The stored sessions, the newest first.

    `words` are the filters of `ioplan ls`: plan, drive, host, job, status, verdict,
    since, limit. Raises ExplainedError.
    """
    unknown = next((name for name in words if name not in Words.__struct_fields__), "")
    if unknown:
        near = did_you_mean(unknown, Words.__struct_fields__)
        raise UsageError(f"sessions are not found by {unknown!r}{near}")
    tags = [tag] if isinstance(tag, str) else list(tag)
    wanted = filter_of(Words(**words, tags=tags))
    place = str(store) if store else place_of_results(None)
    with Store.to_read(place) as opened:
        return [Session(place, one.id) for one in listed(opened, wanted)]


def _request(
    values: Mapping[str, Any], params: Mapping[str, object] | None
) -> RunRequest:
    """Raises UsageError for a word that no request has."""
    given = {SINGULAR.get(k, k): v for k, v in values.items() if v is not None}
    unknown = next((name for name in given if name not in RunRequest.model_fields), "")
    if unknown:
        near = did_you_mean(unknown, RunRequest.model_fields)
        raise UsageError(f"a run has no option {unknown!r}{near}")
    for name in RunRequest.model_fields:
        if isinstance(given.get(name), str | PathLike) and _takes_many(name):
            given[name] = [str(given[name])]
    settings = [f"{name}={value}" for name, value in (params or {}).items()]
    return requested({**given, "settings": [*given.get("settings", ()), *settings]})


def _takes_many(name: str) -> bool:
    return isinstance(RunRequest.model_fields[name].default, tuple)
