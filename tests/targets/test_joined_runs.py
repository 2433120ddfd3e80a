"""Several targets in one run: what they share, and what each of them had."""

import json

import pytest
from arrivals import arrivals
from command import ioplan, last_records, plan_file, succeed

from ioplan.results.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("store_path")]

SIZE = ("--create", "4MiB")
NAMES = ("a.bin", "b.bin", "c.bin")


def run(folder, text, *more, names=NAMES):
    """On scratch files, which are made unless they are there."""
    targets = [word for name in names for word in ("--target", str(folder / name))]
    plan = plan_file(folder, text)
    made = () if all((folder / name).exists() for name in names) else SIZE
    return ioplan("run", plan, *targets, *made, *more)


def run_records(store):
    return [one for one in last_records(store) if one.asked.kind == "run"]


def check_sums(record):
    """What the targets had is what the run had, stream by stream."""
    targets = record.targets.values()
    for stream in record.streams:
        parts = [s for t in targets for s in t.streams if s.name == stream.name]
        for direction, whole in stream.directions.items():
            of = [p.directions[direction] for p in parts if direction in p.directions]
            assert sum(one.ios for one in of) == whole.ios
            assert sum(one.bytes for one in of) == whole.bytes
            assert sum(one.iops for one in of) == pytest.approx(whole.iops)
            worst = max(one.latency.max_ns for one in of if one.latency)
            assert whole.latency and worst == whole.latency.max_ns
    assert sum(one.total.ios for one in targets) == record.total.ios


@pytest.mark.long
def test_poisson_arrivals_and_a_ramp_are_shared(tmp_path, store_path):
    text = """test "T" {
      run random 4KiB 100/0, rate 2_000 iops over all poisson, qd 32 over all for 2s
      run random 4KiB 100/0, ramp 100 iops..1_900 iops over all, qd 32 over all for 2s
      run random 4KiB 100/0, threads 2, rate 1_000 iops total over all,
        qd 8 each over all for 2s
    }"""
    done = run(tmp_path, text)
    assert done.code == 0, done.err
    for record, ios in zip(run_records(store_path), (4000, 2000, 2000), strict=True):
        check_sums(record)
        share = 0.08 if ios == 4000 else 0.01  # five deviations of a Poisson count
        assert arrivals(record) == pytest.approx(ios, rel=share)


@pytest.mark.long
def test_without_over_all_each_target_has_the_whole(tmp_path, store_path):
    text = """
    workload db {
      log  = sequential 4KiB 0/100, rate 200 iops, qd 8, on targets "a.bin"
      data = random 8KiB 100/0, rate 300 iops, qd 8, on targets "b.bin", "c.bin"
      both = random 4KiB 100/0, rate 500 iops over all, qd 8 over all,
        on targets "a.bin", "b.bin"
    }
    test "T" { run db for 2s }
    """
    done = run(tmp_path, text)
    assert done.code == 0, done.err
    (record,) = run_records(store_path)
    check_sums(record)
    ios = {
        (name, stream.name): stream.total.ios
        for name, target in record.targets.items()
        for stream in target.streams
    }
    assert arrivals(record) == pytest.approx(400 + 2 * 600 + 1000, rel=0.01)
    assert ios == {
        ("a.bin", "log"): pytest.approx(400, rel=0.05),
        ("b.bin", "data"): pytest.approx(600, rel=0.05),
        ("c.bin", "data"): pytest.approx(600, rel=0.05),
        ("a.bin", "both"): pytest.approx(500, rel=0.05),
        ("b.bin", "both"): pytest.approx(500, rel=0.05),
    }


def test_preconditions_write_each_target_and_passes_cover_all(tmp_path, store_path):
    text = """
    precondition filled { write sequential 128KiB, qd 4, 1 pass }
    test "T" {
      after filled
      run sequential 64KiB 100/0, qd 6 over all, 2 passes
    }
    """
    assert run(tmp_path, text).code == 0
    written, read = last_records(store_path)
    assert written.directions["write"].bytes == 3 * 4 << 20
    assert read.directions["read"].bytes == 2 * 3 * 4 << 20
    for record in (written, read):
        check_sums(record)
        assert len({one.total.bytes for one in record.targets.values()}) == 1


def test_one_process_does_it_and_the_smallest_target_bounds_the_region(
    tmp_path, store_path
):
    (small := tmp_path / "a.bin").write_bytes(bytes(1 << 20))
    (large := tmp_path / "b.bin").write_bytes(bytes(8 << 20))
    before = large.read_bytes()
    plan = 'test "T" { run sequential 64KiB 0/100, qd 4 over all, 1 pass }'
    words = [f"--overwrite={one}" for one in (small, large)]
    done = run(tmp_path, plan, *words, "--json", names=("a.bin", "b.bin"))
    assert done.code == 0, done.err
    (record,) = run_records(store_path)
    assert record.asked.job.capacity_bytes == 1 << 20
    assert small.read_bytes() != bytes(1 << 20)
    after = large.read_bytes()
    assert after[: 1 << 20] != before[: 1 << 20]
    assert after[1 << 20 :] == before[1 << 20 :]
    members = record.target["members"]
    assert [members[n]["capacity_bytes"] for n in members] == [1 << 20, 8 << 20]


def test_resume_goes_on_with_the_same_targets_only(tmp_path, store_path):
    text = 'test "T" { run random 4KiB 100/0, qd 4 over all for 100ms %s }'
    assert run(tmp_path, text % "").code == 0
    with Store.open(store_path) as store:
        (session,) = store.sessions()
    more = text % "run random 4KiB 100/0, qd 8 over all for 100ms"
    plan = plan_file(tmp_path, more, "more.ioplan")
    (tmp_path / "b.bin").rename(tmp_path / "kept.bin")
    (tmp_path / "b.bin").write_bytes(bytes(4 << 20))
    done = ioplan("resume", session.id, "--plan", plan)
    assert done.code == 2, done.err
    assert "is not the target that session" in done.err
    (tmp_path / "kept.bin").rename(tmp_path / "b.bin")
    assert ioplan("resume", session.id, "--plan", plan).code == 0
    assert len(run_records(store_path)) == 2


def test_what_is_shown_and_exported_has_each_target(tmp_path):
    text = 'test "T" { run random 4KiB 100/0, rate 300 iops over all for 1s }'
    assert run(tmp_path, text).code == 0
    shown = ioplan("show", "last", "--tables")
    assert all(f"on {name}" in shown.out for name in NAMES)
    page = tmp_path / "report.html"
    assert ioplan("report", "last", "-o", page).code == 0
    assert "on b.bin" in page.read_text()
    exported = json.loads(ioplan("export", "last", "--format", "json").out)
    assert [*exported["runs"][0]["targets"]] == [*NAMES]


def test_a_single_target_has_it_all(tmp_path, store_path):
    text = 'test "T" { run random 4KiB 100/0, rate 500 iops over all, qd 8 over all for 1s }'
    assert run(tmp_path, text, names=("a.bin",)).code == 0
    (record,) = run_records(store_path)
    assert arrivals(record) == pytest.approx(500, rel=0.01)
    assert record.targets == {}


def test_a_redacted_bundle_names_no_target(tmp_path):
    names = ("confidential.bin", "b.bin")
    text = 'test "T" { run random 4KiB 100/0, qd 4 over all for 100ms }'
    assert run(tmp_path, text, names=names).code == 0
    for words, is_named in (((), True), (("--redact",), False)):
        bundle = tmp_path / f"{is_named}.ioplan-bundle"
        assert ioplan("bundle", "last", "-o", bundle, *words).code == 0
        found = tmp_path / str(is_named)
        assert ioplan("unbundle", bundle, "-o", found).code == 0
        texts = [one.read_bytes() for one in found.rglob("*") if one.is_file()]
        assert texts and any(b"confidential" in text for text in texts) is is_named


@pytest.mark.long
def test_rounds_have_rows_of_targets_without_percentiles(tmp_path):
    text = """test "T" {
      run random 4KiB 100/0, rate 1_200 iops over all, qd 8 over all for 200ms
      rounds until steady iops, at most 5
    }"""
    done = run(tmp_path, text)
    shown = ioplan("show", "last", "--tables").out
    rows = [line for line in shown.splitlines() if "on b.bin" in line]
    assert rows and "–" in rows[0], done.out
    assert "of a target, it is known of single runs" in " ".join(shown.split())


def test_a_rehearsal_has_the_load_on_one_drive(tmp_path):
    text = 'test "T" { run random 4KiB 100/0, qd 4 over all for 1s }'
    plan = plan_file(tmp_path, text)
    succeed("plan", plan, "--rehearse", "--capacity", "1GiB")
