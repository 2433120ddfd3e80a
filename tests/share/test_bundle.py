"""Bundles: what goes in comes out, and what was changed or made up is refused."""

import json
import lzma
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
from bundles import MANIFEST, forged, members_in, zipped
from command import ioplan, plan_file
from figures import run
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from packed import unpacked_in
from sessions import session

from ioplan.records import (
    Resolved,
    RunDetail,
    RunRequest,
    SessionEvent,
    StoredHistogram,
)
from ioplan.results import Bundled, BundleError, bundle_bytes, read_bundle
from ioplan.results.store import encode_detail

NOW = "2026-11-21T06:00:00Z"
RESOLVED = {
    "files": {"std/w.ioplan": "workload w = random 4KiB 100/0\n"},
    "parameters": {"t": "1s"},
    "drive_file": 'model = "client"\n',
}
PLAN = 'param t = 2s\ntest "demo" { run random 4KiB 67/33 for t }\n'


def content(id):
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
MEMBERS = members_in(DATA)


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """Reads the sessions of a file of these bytes. Raises BundleError."""
    path = tmp_path_factory.mktemp("taken") / "x.ioplan-bundle"

    def read(data):
        path.write_bytes(data)
        return read_bundle(path).sessions

    return read


def test_what_goes_in_comes_out(taken):
    """And other programs unpack it, or write the same."""
    assert taken(DATA) == CONTENT
    assert MEMBERS["1/plan.ioplan"].decode() == PLAN
    assert MEMBERS["1/use/1.ioplan"].decode() in RESOLVED["files"].values()
    assert MEMBERS["report.html"] == b"<html>"
    nameless = (
        Bundled(CONTENT[0].session, (), (run(1, session=CONTENT[0].session.id),)),
    )
    assert taken(bundle_bytes(nameless, b"")) == nameless
    assert zipped(MEMBERS.items()) == forged(DATA) == DATA


@given(st.integers(0, len(DATA)), st.integers(0, len(DATA)), st.binary(max_size=40))
@pytest.mark.promise("share.every_byte")
def test_any_other_bytes_are_refused(taken, start, end, put):
    """One changed; cut out, put in, appended, prepended."""
    at = min(start, len(DATA) - 1)
    flipped = DATA[:at] + bytes([DATA[at] ^ (1 + end % 255)]) + DATA[at + 1 :]
    for changed in (flipped, DATA[:start] + put + DATA[max(start, end) :]):
        if changed != DATA:
            with pytest.raises(BundleError):
                taken(changed)


# made up
def listing(*names):
    """A manifest that says so of its members."""
    members = json.loads(MEMBERS[MANIFEST])["members"]
    return {"members": {name: members.get(name, ["0" * 64, 0]) for name in names}}


def told_of(name, *stated):
    """A manifest with that digest and size of a member."""
    return {"members": listing(*NAMES)["members"] | {name: stated}}


NAMES = [name for name in MEMBERS if name != MANIFEST]
DIGEST, SIZE = listing("report.html")["members"]["report.html"]
HOSTILE = {
    "a path up": lambda: forged(DATA, {"../../etc/cron.d/x": b""}),
    "a path up within": lambda: forged(DATA, {"1/../x": b""}),
    "a path from the root": lambda: forged(DATA, {"/etc/cron.d/x": b""}),
    "a drive's letter": lambda: forged(DATA, {"C:\\x": b""}),
    "a folder": lambda: forged(DATA, {"1/": b""}),
    "a name in another script": lambda: forged(DATA, {"1/\u043f": b""}),
    "a link": lambda: zipped(MEMBERS.items(), external_attr=0o120777 << 16),
    "a program": lambda: zipped(MEMBERS.items(), external_attr=0o100755 << 16),
    "a moment": lambda: zipped(MEMBERS.items(), date_time=(2026, 1, 1, 0, 0, 0)),
    "another system": lambda: zipped(MEMBERS.items(), create_system=0),
    "extra fields": lambda: zipped(MEMBERS.items(), extra=b"\x99\x99\4\0abcd"),
    "members' comments": lambda: zipped(MEMBERS.items(), comment=b"hello"),
    "bzip2": lambda: zipped(MEMBERS.items(), compress_type=zipfile.ZIP_BZIP2),
    "a packed manifest": lambda: zipped(MEMBERS.items(), compress_type=zipfile.ZIP_DEFLATED),
    "a comment": lambda: DATA[:-2] + b"\x05\x00hello",
    "a member twice": lambda: zipped([*MEMBERS.items(), (NAMES[-1], MEMBERS[NAMES[-1]])]),
    "a member twice, with two contents": lambda: zipped([*MEMBERS.items(), (NAMES[-1], b"")]),
    "a member that is not listed": lambda: forged(DATA, {}, listing(*NAMES[:-1])),
    "a member that is only listed": lambda: forged(DATA, {}, listing(*NAMES, "1/x")),
    "members in another order": lambda: forged(DATA, {}, listing(*reversed(NAMES))),
    "a wrong digest": lambda: forged(DATA, {}, told_of("report.html", "0" * 64, SIZE)),
    "a wrong size": lambda: forged(DATA, {}, told_of("report.html", DIGEST, SIZE + 1)),
    "no manifest": lambda: zipped((name, MEMBERS[name]) for name in NAMES),
    "a manifest that is not first": lambda: zipped(
        (name, MEMBERS[name]) for name in [*NAMES, MANIFEST]
    ),
    "nothing": lambda: zipped([]),
    "no archive": lambda: b"PK\x03\x04" + bytes(100),
    "half a header": lambda: DATA[:20],
    "no bytes": lambda: b"",
    "a store": lambda: b"SQLite format 3\0" + bytes(100),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.promise("share.every_byte")
def test_what_is_not_as_ioplan_writes_it_is_refused(name, taken):
    with pytest.raises(BundleError):
        taken(HOSTILE[name]())


def bomb(size):
    """Zeros, packed."""
    packer = zlib.compressobj(9)
    part = bytes(1 << 20)
    return b"".join(packer.compress(part) for _ in range(size >> 20)) + packer.flush()


@pytest.mark.parametrize(
    ("limit", "most"),
    [("MOST_BYTES", 1 << 20), ("MOST_MEMBER_BYTES", 1 << 20), ("MOST_MEMBERS", 20)],
)
def test_a_bomb_is_refused_unopened(limit, most, taken, monkeypatch):
    large = forged(DATA, {"report.html": bytes(2 << 20)})
    monkeypatch.setattr(f"ioplan.results.share.archive.{limit}", most)
    for refuses in (
        lambda: bundle_bytes(CONTENT, bytes(2 << 20)),
        lambda: taken(large),
    ):
        with pytest.raises(BundleError, match="the most are"):
            refuses()


def test_a_bomb_that_lies_about_its_size_is_refused(taken, monkeypatch):
    """And not unpacked, either."""
    monkeypatch.setattr("ioplan.results.share.archive.MOST_FILE_BYTES", 1 << 20)
    honest = forged(DATA, {"report.html": bytes(64 << 20)})
    manifest = members_in(honest)[MANIFEST]
    lying = manifest.replace(b"67108864", b"100     ")
    sizes = ((64 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    sums = (zlib.crc32(text).to_bytes(4, "little") for text in (manifest, lying))
    made = honest.replace(*sizes).replace(manifest, lying).replace(*sums)
    tracemalloc.start()
    with pytest.raises(BundleError, match="does not have the stated size"):
        taken(made)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("hidden", [b"something", None])
def test_nothing_stands_behind_a_member(hidden, taken, monkeypatch):
    """Nor does its data go on without an end. Digests and sizes are right."""

    class Packer:
        def __init__(self):
            self.inner = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
            self.compress = self.inner.compress

        def flush(self):
            if hidden is None:
                return self.inner.flush(zlib.Z_SYNC_FLUSH)
            return self.inner.flush() + hidden

    def packed(content):
        packer = Packer()
        return packer.compress(content) + packer.flush()

    monkeypatch.setattr(
        "zipfile._get_compressor", lambda kind, _: Packer() if kind else None
    )
    monkeypatch.setattr("bundles.deflated", packed)
    with pytest.raises(BundleError, match="does not have the stated size"):
        taken(forged(DATA))


def edited(name, old, new):
    text = MEMBERS[name].decode()
    assert old in text
    return forged(DATA, {name: text.replace(old, new, 1).encode()})


USED = b'"std/w.ioplan"'
ONE, RUNS = "1/session.json", "1/runs.jsonl"
SERIES, HISTOGRAMS = "1/details/1.series", "1/details/1.histograms"
SECOND = {n.replace("1/", "2/", 1): d for n, d in MEMBERS.items() if n[:2] == "1/"}
NINTH = {n.replace("2/", "9/", 1): d for n, d in MEMBERS.items() if n[:2] == "2/"}
NO_MEMBER = {n: None for n in NAMES if n[0] == "2"}


def failed(**members):
    """With other details of a run that was not ok, whose figures may be anything."""
    runs = MEMBERS[RUNS].replace(b'"status":"ok"', b'"status":"failed"', 1)
    details = {f"1/details/1.{name}": data for name, data in members.items()}
    return forged(DATA, {RUNS: runs, **details})


def intervals(body):
    """One packed part of them, with another body."""
    whole, packed = MEMBERS["1/details/1.intervals"], lzma.compress(body, preset=0)
    return whole[:1] + len(packed).to_bytes(4, "little") + whole[5:25] + packed


WRONG = {
    "too many digits": lambda: edited(RUNS, '"seq":1', '"seq":' + "9" * 5000),
    "more than 64 bits": lambda: edited(RUNS, '"seq":1', '"seq":1' + "0" * 19),
    "infinite": lambda: edited(RUNS, '"run_s":3.0', '"run_s":1e999'),
    "not a number": lambda: edited(RUNS, '"run_s":3.0', '"run_s":NaN'),
    "infinite, of a backend": lambda: edited(RUNS, '"facts":{}', '"facts":{"x":-Infinity}'),
    "64 bits, of a backend": lambda: edited(RUNS, '"facts":{}', f'"facts":{{"x":{1 << 63}}}'),
    "a name twice": lambda: edited(RUNS, '"seq":1', '"seq":1,"seq":1'),
    "too deep": lambda: forged(DATA, {RUNS: b"[" * 100_000 + b"]" * 100_000}),
    "a capacity that is a text": lambda: edited(
        RUNS, '"capacity_bytes":1073741824},"host"', '"capacity_bytes":"1G"},"host"'
    ),
    "a capacity below 0": lambda: edited(
        RUNS, '"capacity_bytes":1073741824},"host"', '"capacity_bytes":-1},"host"'
    ),
    "a kernel that is a list": lambda: edited(ONE, '"kernel": "6.1"', '"kernel": ["6.1"]'),
    "CPUs that are true": lambda: edited(ONE, '"kernel": "6.1"', '"cpus": true'),
    "facts that are deep": lambda: edited(ONE, '"kernel": "6.1"', '"target": {"a": [[]]}'),
    "a kernel of a run that is a list": lambda: edited(RUNS, '"kernel":"6.1"', '"kernel":["6.1"]'),
    "a round below 0": lambda: edited(RUNS, '"round":0', '"round":-1'),
    "less than no time": lambda: edited(RUNS, '"run_s":3.0', '"run_s":-3.0'),
    "fewer than no I/Os": lambda: edited(RUNS, '"ios":', '"ios":-'),
    "a call that is none": lambda: edited(ONE, '"t": "1s"', '"t": [["x"]]'),
    "an unknown field": lambda: edited(RUNS, '"seq":1', '"seq":1,"x":2'),
    "of another session": lambda: edited(RUNS, "k3f9", "k3f8"),
    "a newer record": lambda: edited(RUNS, '"schema_version":1', '"schema_version":2'),
    "an event that is none": lambda: edited("1/events.jsonl", "resumed", "exploded"),
    "an id that is a path": lambda: edited(ONE, "20261121-054512-k3f9", "../../x"),
    "one id twice": lambda: forged(DATA, SECOND, {"sessions": [CONTENT[0].session.id] * 2}),
    "a number that is left out": lambda: forged(DATA, {**NO_MEMBER, **NINTH}),
    "files without texts": lambda: edited(ONE, '"std/w.ioplan"', '"a", "b"'),
    "one file twice": lambda: forged(
        DATA, {ONE: MEMBERS[ONE].replace(USED, USED + b", " + USED), "1/use/2.ioplan": b""}
    ),
    "no plan": lambda: forged(DATA, {"1/plan.ioplan": None}),
    "no runs": lambda: forged(DATA, {RUNS: None}),
    "no histograms": lambda: forged(DATA, {HISTOGRAMS: None}),
    "no sessions": lambda: forged(
        DATA, {n: None for n in NAMES if n[0] in "12"}, {"sessions": []}
    ),
    "a session less than listed": lambda: forged(DATA, NO_MEMBER),
    "one file too many": lambda: forged(DATA, {"1/more": b""}),
    "a trace of no file": lambda: forged(DATA, {"1/trace/2.iotrace": b""}),
    "a session too many": lambda: forged(DATA, {"9/session.json": b"{}"}),
    "a text that is none": lambda: forged(DATA, {"1/plan.ioplan": b"\xff"}),
    "a series that is none": lambda: forged(DATA, {SERIES: b"\x01x"}),
    "a series of another layout": lambda: forged(DATA, {SERIES: b"\x09" + MEMBERS[SERIES][1:]}),
    "a series that is a bomb": lambda: forged(DATA, {SERIES: MEMBERS[SERIES][:1] + bomb(100 << 20)}),
    "intervals that are none": lambda: forged(DATA, {"1/details/1.intervals": b"\x01xx"}),
    "intervals that hold none": lambda: failed(intervals=intervals(b"junk")),
    "a histogram of too many bits": lambda: failed(histograms=histogram(60, (1, 1))),
    "a bin outside": lambda: failed(histograms=histogram(7, (1 << 40, 1))),
    "fewer than none": lambda: failed(histograms=histogram(7, (1, -1))),
}  # fmt: skip


def histogram(bits, bins):
    one = StoredHistogram(stream="main", direction="read", bits=bits, bins=bins)
    return encode_detail(RunDetail(histograms=(one,)))["histograms"]


@pytest.mark.parametrize("made", WRONG.values(), ids=WRONG)
def test_contents_that_cannot_be_are_refused(made, taken):
    """The archive is in order: only what it says is not."""
    with pytest.raises(BundleError) as caught:
        taken(made())
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("limit", "size_of"), [("MOST_DETAILS_BYTES", sum), ("MOST_SERIES_BYTES", max)]
)
def test_bombs_are_refused_alone_and_together(limit, size_of, taken, monkeypatch):
    """Each series is as large as one may be, and packed once more by the archive."""
    unpacked = (body for item in MEMBERS.items() for body in unpacked_in(*item))
    most = size_of(map(len, unpacked))
    monkeypatch.setattr(f"ioplan.results.share.bundle.{limit}", most)
    assert taken(DATA) == CONTENT
    monkeypatch.setattr(f"ioplan.results.share.bundle.{limit}", most - 1)
    with pytest.raises(BundleError, match="its series are larger"):
        taken(DATA)


@pytest.mark.parametrize(
    "told",
    [
        {"made_by": "ioplan 1.0, Python 3.13; signed by boss, ED25519 SHA256:x"},
        {"made_at": "2026-11-21T05:45:12Z by ioplan 1; signed by boss\n"},
        *(
            {"made_at": None},
            {"sessions": None},
            {"members": []},
            {"signed": "by boss"},
        ),
        {"members": {name: 1 for name in NAMES}},
        {"format": "ioplan bundle 2"},
    ],
)
def test_a_manifest_cannot_say_who_signed(told, taken):
    """Nor have another format; its digests are right otherwise."""
    with pytest.raises(BundleError, match=r"(?i)manifest") as caught:
        taken(forged(DATA, {}, told))
    assert told.get("format", "") in str(caught.value)


LEAVES = st.sampled_from(
    [None, -1, 0, 1 << 62, 1e300, -0.0, "", "\x1b[2J", "a\nb", "../x", [], {}, [None], True]
)  # fmt: skip


def mutated(value, path, leaf):
    """The value with a leaf put at the place that the numbers lead to."""
    if not path or not isinstance(value, dict | list) or not value:
        return leaf
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    made = value.copy()
    made[key] = mutated(value[key], path[1:], leaf)
    return made


@pytest.mark.slow
@settings(max_examples=30)
@given(
    name=st.sampled_from([ONE, RUNS, "1/events.jsonl"]),
    path=st.lists(st.integers(0, 50), min_size=1, max_size=6),
    leaf=LEAVES,
)
def test_a_made_up_value_is_refused_or_does_no_harm(name, path, leaf, tmp_path_factory):
    """What is taken can be shown, checked and reported; nothing else is written."""
    lines = MEMBERS[name].decode()
    first, rest = (lines, "") if name == ONE else lines.split("\n", 1)
    made = json.dumps(mutated(json.loads(first), path, leaf))
    folder = tmp_path_factory.mktemp("made-up")
    bundle = folder / "x.ioplan-bundle"
    bundle.write_bytes(forged(DATA, {name: f"{made}\n{rest}".encode()}))
    try:
        assert read_bundle(bundle).sessions
    except BundleError:
        return
    for key in (bundle, f"{bundle},{bundle}"):
        shown = ioplan("compare", bundle, key)
        assert shown.code in (0, 1, 2), shown.err
    done = ioplan("report", bundle, "-o", folder / "r.html", "--force")
    assert done.code in (0, 2), done.err
    assert "\x1b" not in done.out + done.err
    assert {one.name for one in folder.iterdir()} <= {"x.ioplan-bundle", "r.html"}


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
def test_any_fact_of_a_backend_is_read(taken, value):
    one, ((record, detail), *others) = CONTENT[0], CONTENT[0].runs
    backend = record.backend.model_copy(update={"facts": {"x": value}})
    record = record.model_copy(update={"backend": backend})
    sent = replace(one, runs=((record, detail), *others))
    assert taken(bundle_bytes((sent,), b"")) == (sent,)


# what is not shared
def test_what_only_its_host_may_say_is_not_shared(taken):
    """Nor believed, where somebody puts it in."""
    one = CONTENT[0]
    asked = RunRequest(overwrite=("x",), lab=Path("/l"), options=("program=/x",))
    own = {"signature": "s", "options": {"program": "/x"}}
    known = one.session.resolved.model_copy(update=own)
    told = one.session.model_copy(update={"request": asked, "resolved": known})
    sent = Bundled(told, one.events, one.runs)
    (found,) = taken(bundle_bytes((sent,), b""))
    assert found.session.request == RunRequest()
    assert found.session.resolved == one.session.resolved


def test_the_gate_is_before_the_file(tmp_path, store_path):
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


def refigured(total, change):
    """A bundle whose first run has other figures than its counts tell."""
    one = CONTENT[0]
    (made, detail), *others = one.runs
    done = made.total.model_copy(update=total)
    made = made.model_copy(update={**change, "total": done})
    return Bundled(one.session, one.events, ((made, detail), *others))


def wrong_percentile():
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
def test_figures_against_the_counts_are_refused(total, change, taken):
    bundle = bundle_bytes((refigured(total, change),), b"")
    with pytest.raises(BundleError, match="the results are inconsistent"):
        taken(bundle)
