"""Pseudonyms for what tells whose machine it was: hosts, serials, paths and users.

A name has the same pseudonym wherever it stands, and in all bundles of one user, as it
is an HMAC of the name by a key that only the user has: nobody can try names against it.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from ioplan import backends
from ioplan.language import clause_table, statement_table
from ioplan.language.metric import METRICS
from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.session import Session, SessionEvent
from ioplan.results.measure.interval_counts import renamed
from ioplan.results.share.container import BundleError
from ioplan.results.share.contents import Bundled
from ioplan.results.share.recorded_plan import run_ids

SERIALS = ("serial", "wwid", "inode", "born", "nguid", "eui64", "uuid", "backing_file")
PATH = r"(?:(?<![\w/.~])|(?<=://))~?/(?:[\w.@%+~,=:#-]+/)*[\w.@%+~,=:#-]*[\w@%+~=#-]/?"
ADDRESS = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"
HEX = r"[0-9A-Fa-f]"
ADDRESS_6 = (
    rf"(?<![\w:])(?:(?:{HEX}{{1,4}}:){{7}}{HEX}{{1,4}}"
    rf"|(?:{HEX}{{1,4}}:)+(?::{HEX}{{1,4}})+"
    rf"|(?:{HEX}{{2}}:){{5}}{HEX}{{2}})(?![\w:])"
)
"""IPv6 addresses, whole or with a gap, and addresses of network cards."""
DOMAIN = r"(?:(?:\.[A-Za-z0-9-]+)+\.[A-Za-z]{2,}|\.(?:local|lan|home|internal))?"
"""What may follow a host's name: of a longer name, no part is left."""
HOME = re.compile(r"(?:/home|/Users)/([^/\s]+)")
NOBODY = ("root", "localhost", "")
ORDINARY = frozenset(
    [*statement_table.BY_WORD, *clause_table.BY_WORD, *METRICS, *backends.names()]
)
"""Words of every plan and record: who is called `test` is not told by that word."""
SHORTEST_INSIDE = 6
"""A serial as long as this is found inside of other words, too."""


class Names(Struct, frozen=True):
    """What is to be hidden, by kind."""

    hosts: frozenset[str]
    serials: frozenset[str]
    users: frozenset[str]
    paths: frozenset[str] = frozenset()


Hide = Callable[[str], str]


def redacted(
    sessions: Iterable[Bundled], key: bytes, hosts: Iterable[str], users: Iterable[str]
) -> tuple[Bundled, ...]:
    """The sessions without names; `hosts` and `users` are names known otherwise.

    Raises BundleError where a name cannot be taken out, as the runs need it.
    """
    found = tuple(sessions)
    hide = hider(names_in(found, hosts, users), key)
    try:
        hidden = tuple(_redacted(one, hide) for one in found)
    except ValueError as error:
        raise BundleError(f"a name to hide is a part of the record: {error}") from error
    for before, after in zip(found, hidden, strict=True):
        if run_ids(before.session) != run_ids(after.session):
            raise BundleError(
                f"the plan of session {before.session.id} has the name of a host, a "
                "drive or a user in a part that affects runs: rename it in the plan"
            )
    return hidden


def names_in(
    sessions: Iterable[Bundled], hosts: Iterable[str], users: Iterable[str]
) -> Names:
    """All names of hosts, drives and users that stand where such stand."""
    found: dict[str, set[str]] = {"host": {*hosts}, "serial": set(), "user": {*users}}
    found["path"] = set()
    for one in sessions:
        _collect(one.session.model_dump(mode="json"), found)
        _collect(json.loads(one.lab or "{}"), found)
        for record, _ in one.runs:
            _collect(record.model_dump(mode="json", include={"host", "target"}), found)
            for stream in record.asked.workload.streams:
                found["host"] |= set(stream.hosts)
            planned = {n for s in record.asked.workload.streams for n in s.targets}
            found["host"] |= record.targets.keys() - planned
    short = {name.partition(".")[0] for name in found["host"]}
    return Names(
        hosts=_telling(found["host"] | short),
        serials=_telling(found["serial"]),
        users=_telling(found["user"]),
        paths=frozenset(found["path"]),
    )


def _telling(names: Iterable[str]) -> frozenset[str]:
    return frozenset(
        name for name in names if not {name, name.lower()} & {*NOBODY, *ORDINARY}
    )


def _collect(value: Any, found: dict[str, set[str]], key: str = "") -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _collect(inner, found, str(name))
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, found, key)
    elif isinstance(value, str):
        if key in SERIALS:
            found["serial"].add(value)
        elif key in ("hostname", "nodename", "host_name"):
            found["host"].add(value)
        elif key == "person":
            found["user"].add(value)
        elif key == "target_key":
            found["serial"] |= set(re.findall(rf"(?:{'|'.join(SERIALS)})=(\S+)", value))
        found["user"] |= set(HOME.findall(value))
        if value[:1] in ("/", "~") and len(value) > 3 and "\n" not in value:
            found["path"].add(value)


def hider(names: Names, key: bytes) -> Hide:
    """What puts pseudonyms into a text."""
    kinds = {
        name.lower(): kind
        for kind, of in (
            ("user", names.users),
            ("host", names.hosts),
            ("serial", names.serials),
        )
        for name in of
    }
    literals = sorted(kinds, key=len, reverse=True)
    known = map(re.escape, sorted(names.paths, key=len, reverse=True))
    words = "|".join(_literal(one, kinds[one] == "host") for one in literals)
    named = [f"(?i:{words})"] if words else []
    found = re.compile("|".join([*known, PATH, ADDRESS, ADDRESS_6, *named]))

    def pseudonym(match: re.Match[str]) -> str:
        text = match[0] if match[0][0] in "/~" else match[0].lower()
        digest = hmac.new(key, text.encode(), "sha256").hexdigest()[:8]
        if text[0] in "/~":
            return f"/path_{digest}"
        return f"{kinds.get(text, 'host')}_{digest}"

    return lambda text: found.sub(pseudonym, text)


def _literal(name: str, is_host: bool) -> str:
    if len(name) >= SHORTEST_INSIDE and any(letter.isdigit() for letter in name):
        return re.escape(name) + (DOMAIN if is_host else "")
    more = DOMAIN if is_host else ""
    return rf"(?<![A-Za-z0-9]){re.escape(name)}{more}(?![A-Za-z0-9])"


def _redacted(one: Bundled, hide: Hide) -> Bundled:
    return Bundled(
        Session.model_validate(_hidden_session(one.session, hide)),
        tuple(
            SessionEvent.model_validate(_hidden(event.model_dump(mode="json"), hide))
            for event in one.events
        ),
        tuple((_hidden_record(r, hide), _hidden_detail(d, hide)) for r, d in one.runs),
        hide(one.lab),
        models={_key(name, hide): hide(text) for name, text in one.models.items()},
    )


def _hidden_session(session: Session, hide: Hide) -> dict[str, Any]:
    raw: dict[str, Any] = _hidden(session.model_dump(mode="json"), hide)
    if raw["resolved"]["plan"]:
        raw["resolved"]["plan"] = "plan.ioplan"
    return raw | {"plan_file": "plan.ioplan"}


def _hidden_record(record: RunRecord, hide: Hide) -> RunRecord:
    raw = _hidden(record.model_dump(mode="json"), hide)
    raw["asked"]["plan_file"] = "plan.ioplan"
    return RunRecord.model_validate(raw)


def _hidden_detail(detail: RunDetail, hide: Hide) -> RunDetail:
    named = (
        one.model_copy(update={"stream": hide(one.stream)}) for one in detail.histograms
    )
    change = {
        "histograms": tuple(named),
        "intervals": renamed(detail.intervals, hide),
    }
    return detail.model_copy(update=change)


def _hidden(value: Any, hide: Hide) -> Any:
    """A value with all texts redacted, and the names that a host gave to facts."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {_key(name, hide): _hidden(inner, hide) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(inner, hide) for inner in value]
    return value


def _key(name: str, hide: Hide) -> str:
    return name if name in FIELDS else hide(name)


def _fields(schema: Any) -> Iterator[str]:
    """The names of all fields of a JSON Schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from _fields(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _fields(inner)


FIELDS = frozenset(
    name
    for model in (Session, SessionEvent, RunRecord)
    for name in _fields(model.model_json_schema())
)
