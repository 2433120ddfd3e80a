"""Limits of a baseline, and `ioplan plan --detect`: how many sessions find a change."""

import json
import re

import numpy as np
import pytest
from command import ioplan, plan_file
from figures import run
from sessions import put
from synthetic_comparisons import World, alternating, judged

from ioplan.results.history import log_limit, signals
from ioplan.results.store import Store

pytestmark = pytest.mark.usefixtures("store_path")
BASED = 'test "T" { run random 4KiB 100/0 for 1s\n expect iops >= 1% of baseline }'


def newest():
    return ioplan("ls", "--format", "jsonl").lines[0]["id"]


def based(folder, size, *words, text=BASED):
    """A session on the simulated drive of a size; its id."""
    options = ("--backend", "sim", "--quiet", "--create", size, *words)
    ioplan("run", plan_file(folder, text), *options)
    return newest()


def verdict_with(folder, key, size, text=BASED):
    """The one verdict of a run on the simulated drive of a size, with a baseline."""
    words = ("--backend", "sim", "--create", size, "--json", "--baseline", key)
    done = ioplan("run", plan_file(folder, text), *words)
    (verdict,) = done.of("verdict")
    assert done.code == (verdict["outcome"] != "held"), done.err
    return verdict


@pytest.mark.promise("verdicts.baseline")
def test_a_named_baseline_of_another_run_or_drive_is_no_limit(tmp_path):
    """The run was done there, too, and its figure would be held."""
    first = based(tmp_path, "256MiB")
    same = verdict_with(tmp_path, first, "256MiB")
    assert same["outcome"] == "held"
    larger = BASED.replace("4K", "8K")
    other = verdict_with(tmp_path, first, "256MiB", larger)
    assert other["outcome"] == "no baseline"
    elsewhere = verdict_with(tmp_path, first, "512MiB")
    assert elsewhere["outcome"] == "undecided"
    assert f"baseline {first} is of ioplan sim SIM" in elsewhere["why"]


def test_the_last_baseline_is_of_the_same_plan_and_drive(tmp_path):
    """Neither the newest session, nor the newest of this plan, is it."""
    mine = based(tmp_path, "256MiB")
    based(tmp_path, "256MiB", text='plan "Other"\n' + BASED)
    based(tmp_path, "512MiB")
    verdict = verdict_with(tmp_path, "last", "256MiB")
    assert (verdict["outcome"], verdict["baseline"]) == ("held", mine)
    assert verdict["limit"] == pytest.approx(verdict["baseline_value"] / 100)


def test_a_baseline_by_tag_is_of_this_drive_before_others(tmp_path):
    mine = based(tmp_path, "256MiB", "--tag", "golden")
    other = based(tmp_path, "512MiB", "--tag", "golden")
    assert verdict_with(tmp_path, "golden", "256MiB")["baseline"] == mine
    assert verdict_with(tmp_path, "golden", "512MiB")["baseline"] == other
    verdict = verdict_with(tmp_path, "golden", "1GiB")
    assert (verdict["outcome"], verdict["baseline"]) == ("undecided", "")
    assert "is of 512MiB in blocks of 512 B, this run of 1GiB" in verdict["why"]


def test_a_killed_or_missing_baseline_is_none(store_path, tmp_path):
    """A verdict shows the limit, the baseline and its session."""
    mine = based(tmp_path, "256MiB")
    run = ("run", plan_file(tmp_path, BASED), "--backend", "sim", "--create", "256MiB")
    assert ioplan(*run, "--baseline", "last").code == 0
    shown = " ".join(ioplan("show", "--tables").out.split())
    limit = rf"limit [\d.]+ IOPS, baseline [\d.k]+ IOPS in session {mine}"
    assert re.search(limit, shown), shown
    for key in ("last@/no/where", "drive:NONE", "nothing"):
        done = ioplan(*run, "--baseline", key)
        assert done.code == 2 and "no" in done.err and "session" in done.err
    with Store.open(store_path) as store:
        for one in store.sessions():
            store.finish(one.id, "interrupted", "2026-01-01T00:00:00Z")
    done = ioplan(*run, "--baseline", "last")
    assert done.code == 2 and "leave --baseline out of the first run" in done.err


@pytest.mark.slow
@pytest.mark.promise("verdicts.baseline")
def test_a_baseline_by_another_backend_is_no_limit(tmp_path):
    """A file's figure is none of the simulated drive, though the path is the same."""
    text = BASED.replace("1s", "200ms").replace("iops >= 1%", "p99 <= 900%")
    file = plan_file(tmp_path, text)
    options = ("--target", tmp_path / "s.bin", "--create", "32MiB", "--json")
    ioplan("run", file, "--backend", "io_uring", *options)
    first = newest()
    done = ioplan("run", file, "--backend", "sim", *options, "--baseline", first)
    (verdict,) = done.of("verdict")
    assert done.code == 1 and verdict["outcome"] == "undecided"
    assert f"baseline {first} is by io_uring, this run by sim" in verdict["why"]


PLAN = """test "Reads" {
  repeat 3 { run random 4KiB 100/0 for 1s }
  vary qd in 1, 2, 4, 8, 16, 32
}"""


def asked(tmp_path, change, *options):
    return ioplan("plan", plan_file(tmp_path, PLAN), "--detect", change, *options)


def needs(tmp_path, change, *options):
    """What is answered of each metric, of IOPS first."""
    return list(json.loads(asked(tmp_path, change, "--json", *options).out)["metrics"])


def test_without_a_store_noise_is_assumed(tmp_path, store_path):
    """And with one that has not these runs."""
    for one in needs(tmp_path, "5%"):
        assert "assumed are 2 %" in one["source"]
        assert 3 <= one["all_cells"] < one["one_cell"] == one["noisiest_cell"]
    done = asked(tmp_path, "5%")
    assert done.code == 0 and "in all 6 cells" in done.out
    assert "Alternate the sides: ABAB" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())
    for change in ("2%", "100%", "5ms", "five"):
        done = asked(tmp_path, change)
        assert done.code == 2 and "--detect" in done.err
    put(store_path, run(1))
    assert "assumed" in needs(tmp_path, "10%")[0]["source"]


@pytest.mark.long
def test_a_store_tells_the_noise(tmp_path, store_path):
    """The simulated drive is far quieter than what is assumed; it tells of itself."""
    options = ("--backend", "sim", "--create", "256MiB", "--quiet")
    for shift in ("100ms", "200ms", "300ms"):
        text = f'test "Before" {{ run random 16KiB 100/0 for {shift} }}\n{PLAN}'
        assert ioplan("run", plan_file(tmp_path, text), *options).code == 0
    for words in ((), ("--backend", "io_uring"), ("--target", "/dev/never")):
        found = needs(tmp_path, "5%", *words)
        assert all("assumed are 2 %" in one["source"] for one in found)
    source = (
        r"3 other sessions with the same runs \(drive ioplan sim \w+, backend sim\)"
    )
    for one in needs(tmp_path, "5%", "--backend", "sim"):
        assert re.fullmatch(source, one["source"])
        assert one["session_percent"] < 1 and one["all_cells"] == one["one_cell"] == 3


CELLS = 6


def test_so_many_sessions_do_find_it(tmp_path):
    """Of the noise that is assumed: a loss of 5 % in all cells."""
    loss, world = dict.fromkeys(range(CELLS), -0.05), World(cells=CELLS)
    design = alternating(needs(tmp_path, "5%")[0]["all_cells"])
    found = [judged(world, design, seed, loss)[0].common for seed in range(30)]
    assert sum(one is not None and one.outcome == "different" for one in found) >= 27


def test_it_answers_in_nights_which_grow_as_the_change_shrinks(tmp_path):
    """Of 2 % of noise; what the monitor takes for as large a step is about the same."""
    changes = ("20%", "10%", "5%")
    few, more, most = (needs(tmp_path, one)[0]["nights"] for one in changes)
    assert few <= 3 and few <= more <= most <= 30
    rows = 0.02 * np.random.default_rng(5).normal(size=(12, 90))
    rows[:, 30:] += np.log(1 - 0.05)
    limits, seen = [log_limit(CELLS + 1)] * 90, []
    for row in rows.tolist():
        looks = signals(row, limits)[0]
        confirmed = (one.seen - 29 for one in looks if one.state == "confirmed")
        seen.append(next(confirmed, 60))
    assert abs(float(np.median(seen)) - most) <= 8
