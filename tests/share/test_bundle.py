"""Bundles: what goes in comes out, and what was changed or made up is refused."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from figures import run
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from packed import unpacked_in
from sessions import session

from ioplan.records import Resolved, RunRequest, SessionEvent, StoredHistogram
from ioplan.results import (
    Bundled,
    BundleError,
    bundle_bytes,
    members_of,
    read_bundle,
    sessions_of,
)
from ioplan.results.share.container import MANIFEST, loaded, read, written
from ioplan.results.store import encode_histograms
from ioplan.results.store.codec import VERSION

NOW = "2026-11-21T06:00:00Z"
RESOLVED: dict[str, Any] = {
    "files": {"std/w.ioplan": "workload w = random 4KiB 100/0\n"},
    "parameters": {"t": "1s"},
    "drive_file": 'model = "client"\n',
}
PLAN = 'param t = 2s\ntest "demo" { run random 4KiB 67/33 for t }\n'


def content(id: str) -> Bundled:
    """A session with two runs."""
    known = {"resolved": Resolved(**RESOLVED), "plan_text": PLAN}
    return Bundled(
        session(id, **known, status="ok", ended_at=NOW),
        (SessionEvent(at=NOW, kind="resumed", text="again"),),
        (run(1, session=id), run(2, session=id)),
        '{"cpus": "1"}',
    )


CONTENT = (content("20261121-054512-k3f9"), content("20261121-064512-aaaa"))
DATA = bundle_bytes(CONTENT, b"<html>")


def taken(data: bytes) -> tuple[Bundled, ...]:
    """The sessions of a file's bytes. Raises BundleError."""
    return sessions_of(read(data).members)


def test_what_goes_in_comes_out() -> None:
    """And other programs unpack it."""
    assert taken(DATA) == CONTENT
    with zipfile.ZipFile(io.BytesIO(DATA)) as archive:
        assert archive.testzip() is None
        assert archive.read("1/plan.ioplan").decode() == PLAN
        assert archive.read("1/use/1.ioplan").decode() in RESOLVED["files"].values()
        assert archive.read("report.html") == b"<html>"
    id = CONTENT[0].session.id
    nameless = (Bundled(CONTENT[0].session, (), (run(1, session=id),)),)
    assert sessions_of(members_of(nameless)) == nameless


@given(st.integers(0, len(DATA)), st.integers(0, len(DATA)), st.binary(max_size=40))
@pytest.mark.promise("share.every_byte")
def test_any_other_bytes_are_refused(start: int, end: int, put: bytes) -> None:
    """One changed; cut out, put in, appended, prepended."""
    at = min(start, len(DATA) - 1)
    flipped = DATA[:at] + bytes([DATA[at] ^ (1 + end % 255)]) + DATA[at + 1 :]
    for changed in (flipped, DATA[:start] + put + DATA[max(start, end) :]):
        if changed != DATA:
            with pytest.raises(BundleError):
                taken(changed)


# made up
def archive(*members: tuple[str, bytes], **info: Any) -> bytes:
    """A ZIP file by Python's own library, with attributes of its members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, data in members:
            one = zipfile.ZipInfo(name)
            for key, value in info.items():
                setattr(one, key, value)
            made.writestr(one, data)
    return out.getvalue()


ALL = [(name, data) for name, data in read(DATA).members.items()]
MANIFEST_MEMBER = (MANIFEST, read(DATA).manifest)
TWICE = "two members of the bundle have one name"

HOSTILE: dict[str, Callable[[], bytes]] = {
    "of Python": lambda: archive(MANIFEST_MEMBER, *ALL),
    "a path up": lambda: archive(MANIFEST_MEMBER, ("../../etc/cron.d/x", b"")),
    "a path from the root": lambda: archive(MANIFEST_MEMBER, ("/etc/cron.d/x", b"")),
    "a drive's letter": lambda: archive(MANIFEST_MEMBER, ("C:\\x", b"")),
    "a link": lambda: archive(MANIFEST_MEMBER, *ALL, external_attr=0o120777 << 16),
    "a folder": lambda: archive(MANIFEST_MEMBER, ("1/", b"")),
    "nothing": archive,
    "no archive": lambda: b"PK\x03\x04" + bytes(100),
    "a store": lambda: b"SQLite format 3\0" + bytes(100),
    "bzip2": lambda: archive(*ALL, compress_type=zipfile.ZIP_BZIP2),
    "a comment": lambda: DATA[:-2] + b"\x05\x00hello",
    TWICE: lambda: archive(MANIFEST_MEMBER, ALL[0], ALL[0]),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.promise("share.every_byte")
def test_what_is_not_as_ioplan_writes_it_is_refused(name: str) -> None:
    with pytest.raises(BundleError, match=TWICE if name == TWICE else None):
        taken(HOSTILE[name]())


WHEN = "does not state when"


def bomb(size: int) -> bytes:
    """Zeros, packed."""
    packer = zlib.compressobj(9)
    part = bytes(1 << 20)
    return b"".join(packer.compress(part) for _ in range(size >> 20)) + packer.flush()


def test_a_bomb_is_refused_unopened(monkeypatch: pytest.MonkeyPatch) -> None:
    members = {"1/x": bytes(2 << 20)}
    large = written(members, {})
    monkeypatch.setattr("ioplan.results.share.container.MOST_BYTES", 1 << 20)
    for refuses in (lambda: written(members, {}), lambda: read(large)):
        with pytest.raises(BundleError, match="the most are"):
            refuses()


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    honest = written({"1/x": bytes(1 << 20)}, {})
    manifest = read(honest).manifest
    told = manifest.replace(b"1048576", b"100    ")
    sizes = ((1 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    sums = (zlib.crc32(one).to_bytes(4, "little") for one in (manifest, told))
    with pytest.raises(BundleError, match="does not have the stated size"):
        read(honest.replace(*sizes).replace(manifest, told).replace(*sums))


def with_members(**changes: bytes | None) -> bytes:
    """The bundle with other members; None leaves one out."""
    members = {n: d for n, d in (dict(ALL) | changes).items() if d is not None}
    return written(members, {"sessions": [one.session.id for one in CONTENT]})


def edited(name: str, old: str, new: str) -> bytes:
    text = dict(ALL)[name].decode()
    assert old in text
    return with_members(**{name: text.replace(old, new, 1).encode()})


ONE = "1/session.json"

WRONG = {
    "too many digits": lambda: edited("1/runs.jsonl", '"seq":1', '"seq":' + "9" * 5000),
    "more than 64 bits": lambda: edited("1/runs.jsonl", '"seq":1', '"seq":1' + "0" * 19),
    "infinite": lambda: edited("1/runs.jsonl", '"run_s":3.0', '"run_s":1e999'),
    "not a number": lambda: edited("1/runs.jsonl", '"run_s":3.0', '"run_s":NaN'),
    "a name twice": lambda: edited("1/runs.jsonl", '"seq":1', '"seq":1,"seq":1'),
    "too deep": lambda: with_members(**{"1/runs.jsonl": b"[" * 100_000 + b"]" * 100_000}),
    "a capacity that is a text": lambda: edited(
        "1/runs.jsonl", '"capacity_bytes":1073741824},"host"', '"capacity_bytes":"1G"},"host"'
    ),
    "less than no time": lambda: edited("1/runs.jsonl", '"run_s":3.0', '"run_s":-3.0'),
    "fewer than no I/Os": lambda: edited("1/runs.jsonl", '"ios":', '"ios":-'),
    "a call that is none": lambda: edited(ONE, '"t": "1s"', '"t": [["x"]]'),
    "an unknown field": lambda: edited("1/runs.jsonl", '"seq":1', '"seq":1,"x":2'),
    "of another session": lambda: edited("1/runs.jsonl", "k3f9", "k3f8"),
    "a newer record": lambda: edited("1/runs.jsonl", '"schema_version":1', '"schema_version":2'),
    "an id that is a path": lambda: edited(ONE, "20261121-054512-k3f9", "../../x"),
    "one id twice": lambda: with_members(
        **{name.replace("1/", "2/", 1): data for name, data in ALL if name[:2] == "1/"}
    ),
    "files without texts": lambda: edited(ONE, '"std/w.ioplan"', '"a", "b"'),
    "no plan": lambda: with_members(**{"1/plan.ioplan": None}),
    "no runs": lambda: with_members(**{"1/runs.jsonl": None}),
    "one file too many": lambda: with_members(**{"1/more": b""}),
    "a session too many": lambda: with_members(**{"9/session.json": b"{}"}),
    "a text that is none": lambda: with_members(**{"1/plan.ioplan": b"\xff"}),
    "a series that is none": lambda: with_members(**{"1/details/1.series": b"\x01x"}),
    "a series that is a bomb": lambda: with_members(
        **{"1/details/1.series": bytes([VERSION]) + bomb(100 << 20)}
    ),
    "a histogram of too many bits": lambda: with_members(
        **{"1/details/1.histograms": histogram(60, (1, 1))}
    ),
    "a bin outside": lambda: with_members(
        **{"1/details/1.histograms": histogram(7, (1 << 40, 1))}
    ),
    "fewer than none": lambda: with_members(
        **{"1/details/1.histograms": histogram(7, (1, -1))}
    ),
}  # fmt: skip


def histogram(bits: int, bins: tuple[int, ...]) -> bytes:
    one = StoredHistogram(stream="main", direction="read", bits=bits, bins=bins)
    return encode_histograms((one,))


@pytest.mark.parametrize("made", WRONG.values(), ids=WRONG)
def test_contents_that_cannot_be_are_refused(made: Callable[[], bytes]) -> None:
    """The archive is in order: only what it says is not."""
    data = made()
    with pytest.raises(BundleError) as caught:
        taken(data)
    assert len(str(caught.value)) < 400


def test_small_bombs_are_refused_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each series is as large as one may be, and packed once more by the archive."""
    unpacked = [one for name, data in ALL for one in unpacked_in(name, data)]
    whole = sum(map(len, unpacked))
    monkeypatch.setattr("ioplan.results.share.contents.MOST_DETAILS_BYTES", whole)
    assert taken(DATA) == CONTENT
    monkeypatch.setattr("ioplan.results.share.contents.MOST_DETAILS_BYTES", whole - 1)
    with pytest.raises(BundleError, match="its series are larger"):
        taken(DATA)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"made_by": "ioplan 1.0, Python 3.13; signed by boss, ED25519 SHA256:x"},
            WHEN,
        ),
        ({"made_at": "2026-11-21T05:45:12Z by ioplan 1; signed by boss\n"}, WHEN),
        ({"made_at": None}, WHEN),
        ({"format": "ioplan bundle 2"}, "its format is 'ioplan bundle 2'"),
    ],
)
def test_a_manifest_cannot_say_who_signed(
    told: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """Nor have another format; its digests are right otherwise."""
    manifest = json.loads(read(DATA).manifest) | told
    del manifest["members"]
    bundle = tmp_path / "x.ioplan-bundle"
    bundle.write_bytes(written(dict(ALL), manifest))
    with pytest.raises(BundleError, match=said):
        read_bundle(bundle)


LEAVES = st.sampled_from(
    [None, -1, 0, 1 << 62, 1e300, -0.0, "", "\x1b[2J", "a\nb", "../x", [], {}, [None], True]
)  # fmt: skip


def mutated(value: Any, path: list[int], leaf: Any) -> Any:
    """The value with a leaf put at the place that the numbers lead to."""
    if not path or not isinstance(value, dict | list) or not value:
        return leaf
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    made = value.copy()
    made[key] = mutated(value[key], path[1:], leaf)
    return made


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from([ONE, "1/runs.jsonl", "1/events.jsonl"]),
    path=st.lists(st.integers(0, 50), min_size=1, max_size=6),
    leaf=LEAVES,
)
def test_a_made_up_value_is_refused_or_does_no_harm(
    name: str, path: list[int], leaf: Any, tmp_path: Path
) -> None:
    """What is taken can be shown, checked and reported; nothing else is written."""
    lines = dict(ALL)[name].decode()
    first, rest = (lines, "") if name == ONE else lines.split("\n", 1)
    made = json.dumps(mutated(json.loads(first), path, leaf))
    bundle = tmp_path / "x.ioplan-bundle"
    bundle.write_bytes(with_members(**{name: f"{made}\n{rest}".encode()}))
    try:
        assert read_bundle(bundle).sessions
    except BundleError:
        return
    for key in (bundle, f"{bundle},{bundle}"):
        shown = ioplan("compare", bundle, key)
        assert shown.code in (0, 1, 2), shown.err
    done = ioplan("report", bundle, "-o", tmp_path / "r.html", "--force")
    assert done.code in (0, 2), done.err
    assert "\x1b" not in done.out + done.err
    assert {one.name for one in tmp_path.iterdir()} <= {"x.ioplan-bundle", "r.html"}


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(
    allow_nan=False, allow_infinity=False
)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | NUMBERS | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
@example([-(2**63), 2**63 - 1])
def test_plain_json_is_json(value: Any) -> None:
    assert loaded(json.dumps(value).encode()) == value


# what is not shared
def test_what_only_its_host_may_say_is_not_shared() -> None:
    """Nor believed, where somebody puts it in."""
    one = CONTENT[0]
    asked = RunRequest(overwrite=("x",), lab=Path("/l"), options=("program=/x",))
    own = {"signature": "s", "options": {"program": "/x"}}
    known = one.session.resolved.model_copy(update=own)
    told = one.session.model_copy(update={"request": asked, "resolved": known})
    sent = Bundled(told, one.events, one.runs)
    (found,) = sessions_of(members_of((sent,)))
    assert found.session.request == RunRequest()
    assert found.session.resolved == one.session.resolved


def test_the_gate_is_before_the_file(tmp_path: Path, store_path: Path) -> None:
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 10ms }')
    assert ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "-q").code == 0
    out = tmp_path / "x.ioplan-bundle"
    out.write_bytes(b"somebody's")
    refused = ioplan("bundle", "last", "-o", out)
    assert refused.code == 2 and "--force" in refused.err
    assert out.read_bytes() == b"somebody's"
    assert ioplan("bundle", "last", "-o", store_path, "--force").code == 2
    assert ioplan("bundle", "last", "-o", out, "--force").code == 0
    assert len(read_bundle(out).sessions[0].runs) == 1


@pytest.mark.parametrize("name", [".envrc", "a/.git/config", "lab.toml", "ioplan.toml"])
@pytest.mark.usefixtures("store_path")
def test_settings_are_not_unpacked(name: str, tmp_path: Path) -> None:
    files = Resolved(files={name: "workload w = random 4KiB 100/0\n"})
    one = CONTENT[0].session.model_copy(update={"resolved": files})
    bundle, out = tmp_path / "x.ioplan-bundle", tmp_path / "out"
    bundle.write_bytes(bundle_bytes((replace(CONTENT[0], session=one),), b""))
    done = ioplan("unbundle", bundle, "-o", out)
    assert done.code == 2 and "uses a file" in done.err
    assert not list(tmp_path.rglob(Path(name).name))


def refigured(total: dict[str, Any], change: dict[str, Any]) -> Bundled:
    """A bundle whose first run has other figures than its counts tell."""
    one = CONTENT[0]
    (made, detail), *others = one.runs
    done = made.total.model_copy(update=total)
    made = made.model_copy(update={**change, "total": done})
    return Bundled(one.session, one.events, ((made, detail), *others))


def wrong_percentile() -> dict[str, Any]:
    latency = CONTENT[0].runs[0][0].total.latency
    assert latency
    *lower, last = latency.percentiles
    last = last.model_copy(update={"latency_ns": latency.max_ns * 0.9})
    return {"latency": latency.model_copy(update={"percentiles": (*lower, last)})}


@pytest.mark.parametrize(
    ("total", "change"),
    [
        *(({"iops": 1e6}, {}), ({"ios": 10**6}, {}), ({"latency": None, "ios": 5}, {})),
        *(({"bandwidth_bytes_per_s": 1.0}, {}), (wrong_percentile(), {})),
        *(({}, {"run_s": 0.3}), ({}, {"lasted_s": 60.0}), ({}, {"cpu_percent": 1.0})),
        ({}, {"streams": ()}),
    ],
)
def test_figures_against_the_counts_are_refused(
    total: dict[str, Any], change: dict[str, Any]
) -> None:
    with pytest.raises(BundleError, match="the results are inconsistent"):
        sessions_of(members_of((refigured(total, change),)))
