"""Sessions with --within, on simulated drives: in virtual time, by their records."""

import pytest
from command import ioplan, plan_file
from paths import ROOT

from ioplan.results.store import Store

pytestmark = pytest.mark.slow
rough = pytest.mark.usefixtures("rough_sim")
"""For sessions whose figures do not matter."""

CLIENT = ROOT / "examples/sim/client.toml"
FULL = "precondition full { write sequential 128KiB, qd 32, 1 pass }\n"
DEPTHS = """test "Depth" { after full
  run random 4KiB 100/0 for 5min, warmup 5s
  vary qd in 1..128 doubling }
"""
ROUNDS = """test "Rounds" { after full
  run random 4KiB for 1min, threads 2
  vary read in 100%, 50%, 0%
  vary size in 128KiB, 4KiB
  rounds until steady iops when read == 0% and size == 4KiB, at most 25 }
"""
CELLS = """test "Cells" {
  run random 4KiB 70/30 for 2min
  vary qd in 1..32 doubling
  rounds until every cell within 0.01%, at most 25 }
"""
CONSISTENCY = 'test "Time" { idle 5min  run random 4KiB 0/100, qd 32 for 2h }\n'


class Place:
    """A plan, a drive and a store."""

    def __init__(self, folder, text, drive=None):
        self.plan = plan_file(folder, f'plan "P"\non unsteady continue\n{FULL}{text}')
        self.store = folder / "results.db"
        self.drive = ["--sim", drive] if drive else ["--backend", "sim"]

    def run(self, *more, size="8GiB"):
        common = ("--create", size, "--store", self.store, "--quiet")
        return ioplan("run", self.plan, *self.drive, *common, *more).code

    def found(self):
        with Store.open(self.store) as store:
            session = store.session("last")
            events = [e.text for e in store.events(session.id) if e.kind == "within"]
            return session, list(store.records(session.id)), events


def hours(records):
    """Of all that was done: virtual time passes in runs only, and in rests."""
    return sum(one.run_s + one.asked.job.warmup_ns / 1e9 for one in records) / 3600


@pytest.mark.parametrize(
    ("text", "drive"),
    [
        pytest.param(DEPTHS + ROUNDS, None, id="runs"),
        pytest.param(ROUNDS + CELLS, CLIENT, id="rounds-client"),
        pytest.param(CELLS, None, id="cells"),
    ],
)
@pytest.mark.long
@rough
@pytest.mark.promise("within.on_time")
def test_an_hour_is_kept_within_two_percent(tmp_path, text, drive):
    place = Place(tmp_path, text, drive)
    assert place.run("--within", "1h") == 0
    session, records, events = place.found()
    assert session.status == "ok"
    assert events[0].startswith("within 1 h, of ")
    assert all(one.status == "ok" for one in records)
    assert hours(records) == pytest.approx(1, rel=0.02)


@pytest.mark.long
@rough
def test_rests_count_and_the_last_run_ends_on_time(tmp_path):
    place = Place(tmp_path, CONSISTENCY)
    assert place.run("--within", "1h") == 0
    _, (record,), _ = place.found()
    assert hours([record]) <= 55 / 60
    assert "known within" in record.warnings[0]
    assert record.warnings[0].startswith("ended after ")


@rough
@pytest.mark.promise("within.enough")
def test_a_time_that_suffices_changes_nothing(tmp_path):
    place = Place(tmp_path, 'test "T" { run random 4KiB 0/100 for 10s }')
    assert place.run("--within", "1min") == 0
    _, (record,), events = place.found()
    assert record.run_s == pytest.approx(10, rel=1e-6)
    assert not record.warnings
    assert len(events) == 1
    assert events[0].startswith("within 1 min: nothing is shortened, unless the 10 s")


@pytest.mark.parametrize("within", ["11min", "20h"])
def test_a_slow_preparation_takes_from_the_slack_first(tmp_path, within):
    """It takes 230 s of a client drive where a middling one is assumed to take 130 s."""
    worn = "precondition worn {\npurge\nwrite random 4KiB, qd 128, 6 passes\n}"
    mixed = (
        'test "A" {\nafter worn\nrun random 4KiB 70/30 for 60s\nvary qd in 1, 4, 16 }'
    )
    reads = 'test "B" { run random 4KiB 100/0 for 60s\nvary qd in 1, 4 }'
    place = Place(tmp_path, f"{worn}\n{mixed}\n{reads}", CLIENT)
    assert place.run("--within", within, size="16GiB") == 0
    _, records, events = place.found()
    runs = [record for record in records if record.asked.kind == "run"]
    assert "nothing is shortened" in events[0]
    assert [record.run_s for record in runs] == pytest.approx([60] * 5)
    assert not [text for record in runs for text in record.warnings if "within" in text]


@pytest.mark.parametrize(
    ("tail", "ends"), [("", 0.5), ("expect p99 <= 1s\n", 1), ("headline max\n", 1)]
)
@pytest.mark.promise("within.percentile")
def test_only_a_mean_is_known_before_the_time_is_over(tmp_path, tail, ends):
    place = Place(tmp_path, f'test "T" {{ run random 4KiB 100/0 for 10min\n{tail}}}')
    assert place.run("--within", "2min") == 0
    _, (record,), _ = place.found()
    assert record.run_s == pytest.approx(120 * ends, rel=0.05)


@pytest.mark.long
@rough
@pytest.mark.promise("exit_codes.interrupted", "within.slow_drive")
def test_a_slow_drive_ends_on_time_and_loses_nothing(tmp_path):
    """Its preparation takes far longer than a middling drive's would."""
    slow = tmp_path / "slow.toml"
    slow.write_text('capacity = "8GiB"\n[host]\nbandwidth = "20MB/s"\n')
    text = 'test "First" { run random 4KiB 100/0 for 10s vary qd in 1, 2, 4 }\n' + (
        'test "T" { after full run random 4KiB 100/0 for 30s vary qd in 1, 2 }\n'
    )
    place = Place(tmp_path, text, slow)
    assert place.run("--within", "2min") == 130
    session, records, events = place.found()
    assert session.status == "interrupted"
    assert events[-1] == "the time of --within is over"
    assert hours(records) * 3600 == pytest.approx(120, rel=0.02)
    *kept, last = records
    assert [one.status for one in kept] == ["ok"] * 3
    assert (last.status, last.message) == ("interrupted", events[-1])
    done = ioplan("resume", "--store", place.store, "--quiet")
    assert done.code == 0, done.err
    session, records, _ = place.found()
    assert session.status == "ok"
    lasted = [one.run_s for one in records if one.asked.kind == "run"]
    assert lasted[3:] == pytest.approx([30, 30])


@pytest.mark.long
@rough
def test_rounds_that_time_ends_are_judged_as_they_are(tmp_path):
    """Three rounds decide no cell within 0.01 %, and the session says how many."""
    place = Place(tmp_path, CELLS)
    assert place.run("--within", "40min") == 0
    _, records, events = place.found()
    rounds = {one.asked.round for one in records}
    assert rounds == {1, 2, 3}
    assert events[-1].startswith("Cells: 3 of at most 25 rounds: 6 of 6 cells not")
    assert len(records) == 18
