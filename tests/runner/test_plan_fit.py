"""What `ioplan run` will refuse: `ioplan plan --backend` says it, and nothing is left then."""

import json

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO

from ioplan import Cause
from ioplan.backends import Gap, TargetFacts
from ioplan.language import Source, check
from ioplan.planner import summary_of
from ioplan.runner import misfits
from ioplan_sim import SimBackend

PLAN = """precondition written { write sequential 128KiB, verify, 1 pass }
test "Exact" {
  run random 4KiB 100/0, qd 4 for 1s
}
test "Own sizes" {
  run random read sizes { 4KiB 100% } write sizes { 64KiB 100% } 50/50 for 1s
}
test "Mixed" {
  run random sizes { 4KiB 50%, 64KiB 50% } 100/0 for 1s
}
test "Skewed" {
  run random 4KiB 100/0, normal 10% for 1s
}
test "Scattered" {
  run random 4KiB 100/0, zipf 1.2 for 1s
}
test "Alternating" {
  run sequential 4KiB 50/50 for 1s
}
test "Verified" {
  run random 4KiB 50/50, verify for 1s
}
test "After it" { after written
  run random 4KiB 100/0 for 1s
}
test "After it again" { after written
  run random 4KiB 100/0 for 1s
}
"""
ABSENT = ("--backend", "fio", "--option", "path=/nowhere/fio")
"""A fio that is not installed: what can be said is said all the same."""


@pytest.fixture
def plan(tmp_path):
    return plan_file(tmp_path, PLAN)


def fit(*words):
    found = json.loads(ioplan("plan", *words, "--json").out)["fit"]
    return found


def grades(found):
    return {one["test"]: one["fit"] for one in found["tests"]}


def test_each_test_is_exact_approximate_or_impossible_with_nothing_installed(plan):
    found = fit(plan, *ABSENT)
    assert not found["usable"] and found["refused"]
    assert grades(found) == {
        "Exact": "exact",
        "Own sizes": "exact",
        "Mixed": "approximate",
        "Skewed": "approximate",
        "Scattered": "near",
        "Alternating": "near",
        "Verified": "impossible",
        "After it": "impossible",
        "After it again": "impossible",
    }
    (gap,) = found["tests"][2]["gaps"]
    assert gap["field"] == "align" and gap["edit"] == "align 4KiB"


def test_the_edit_makes_it_exact(tmp_path):
    text = PLAN.replace("64KiB 50% } 100/0", "64KiB 50% } 100/0, align 4KiB")
    assert grades(fit(plan_file(tmp_path, text), *ABSENT))["Mixed"] == "exact"


def test_the_table_tells_what_instead_and_what_to_type(plan):
    done = ioplan("plan", plan, *ABSENT)
    assert done.code == 2
    text = " ".join(done.out.split())
    assert "9 tests, 2 exact, 2 near, 2 approximate, 3 impossible" in text
    assert "it cannot run here: /nowhere/fio cannot be run" in text
    assert "instead: blockalign=4k for all sizes exact with: align 4KiB" in text
    assert "--allow align,distribution accepts what is approximate" in text
    assert "--only-exact runs 4 of 9 tests" in text
    assert "with --allow distribution" in done.err


@pytest.mark.promise("exit_codes.plan")
def test_a_plan_is_refused_unless_all_of_it_is_accepted(tmp_path):
    text = PLAN[: PLAN.index('test "Verified"')].partition("\n")[2]
    plan = plan_file(tmp_path, text)
    assert ioplan("plan", plan, *ABSENT).code == 2
    one = ioplan("plan", plan, *ABSENT, "--allow", "align")
    assert one.code == 2
    assert "12 draws" in one.err and "aligns all" not in one.err
    assert "scatters" not in one.err  # which is told, and stops nothing
    for words in (
        ("--allow", "align,distribution"),
        ("--allow", "align", "--allow", "normal"),
        ("--allow-approximate",),
        ("--only-exact",),
    ):
        assert ioplan("plan", plan, *ABSENT, *words).code == 0, words


def test_only_exact_shows_the_steps_that_would_be_run(plan):
    done = ioplan("plan", plan, *ABSENT, "--only-exact", "--json")
    shown = json.loads(done.out)
    assert done.code == 0
    kept = {"Exact", "Own sizes", "Scattered", "Alternating"}
    assert {one["test"] for one in shown["steps"]} == kept
    assert {one["test"] for one in shown["fit"]["tests"] if one["runs"]} == kept


def test_an_unknown_approximation_is_no_word(plan):
    done = ioplan("plan", plan, *ABSENT, "--allow", "aling")
    assert done.code == 2 and "did you mean 'align'?" in done.err
    done = ioplan("plan", plan, "--allow", "align")
    assert done.code == 2 and "add --backend" in done.err


def test_the_version_decides(tmp_path):
    plan = plan_file(
        tmp_path, 'test "T" { run random 4KiB 50/50, sync every 1 for 1s }'
    )
    older = grades(fit(plan, *ABSENT, "--option", "version=3.36"))
    newer = grades(fit(plan, *ABSENT, "--option", "version=3.42"))
    assert (older, newer) == ({"T": "approximate"}, {"T": "exact"})
    done = ioplan("plan", plan, *ABSENT, "--option", "version=new")
    assert done.code == 2 and "such as 3.38" in done.err


READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'
TCP = "nvme:tcp:192.0.2.1:4420:nqn.2016-06.io.spdk:cnode1"


@pytest.mark.parametrize(
    ("target", "words", "size_bytes", "assumed"),
    [
        ("malloc:64MiB", (), 64 << 20, False),
        ("null:128MiB", ("--option", "block_bytes=4096"), 128 << 20, False),
        ("delay:128MiB:1000:5000:3000:9000", (), 128 << 20, False),
        ("nvme:pcie:0000:01:00.0", (), 10**12, True),
        (TCP, ("--capacity", "2TiB"), 2 << 40, True),
    ],
)
def test_an_address_that_only_the_backend_knows(
    target, words, size_bytes, assumed, tmp_path
):
    plan = plan_file(tmp_path, READS)
    spdk = ("--backend", "spdk", "--target", target, *words)
    done = ioplan("plan", plan, *spdk)
    assert done.code == 0, done.err
    found = fit(plan, *spdk)["target"]
    assert (found["path"], found["capacity_bytes"]) == (target, size_bytes)
    told = "assumed of" in " ".join(done.out.split())
    assert told is assumed


def test_what_the_target_is_decides_too(tmp_path):
    plan = plan_file(tmp_path, READS.replace("4KiB", "512B"))
    words = ("--backend", "spdk", "--target", "malloc:64MiB")
    assert ioplan("plan", plan, *words).code == 0
    done = ioplan("plan", plan, *words, "--option", "block_bytes=4096")
    assert done.code == 2 and "block of 4096 B" in done.err
    done = ioplan("plan", plan, *words, "--capacity", "1TB")
    assert done.code == 2 and "specifies its size" in done.err


def test_a_device_that_is_elsewhere(tmp_path):
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 0/100, trim 100% for 1s }')
    away = (*ABSENT, "--target", "/dev/nvme9n1")
    assert ioplan("plan", plan, *away).code == 2  # how large is it?
    assert ioplan("plan", plan, *away, "--capacity", "1TB").code == 0
    file = (*ABSENT, "--target", tmp_path / "away.bin", "--capacity", "1TB")
    assert "on block devices only" in ioplan("plan", plan, *file).err


def test_run_does_what_fits_and_tells_the_rest(tmp_path, store_path):
    text = """test "Fits" { run random 4KiB 100/0 for 100ms }
test "Too small" { run random 4KiB 100/0, region 0%..0.001% for 100ms }
"""
    plan = plan_file(tmp_path, text)
    sim = ("--backend", "sim", "--create", "64MiB")
    assert ioplan("run", plan, *sim).code == 2
    done = ioplan("run", plan, *sim, "--only-exact")
    assert done.code == 0
    assert "skipped: Too small: impossible: its region of 512B" in done.out
    done = ioplan("run", plan, *sim, "--only-exact", "--json")
    assert {record["asked"]["test"] for record in done.records} == {"Fits"}
    none = plan_file(tmp_path, text.partition("\n")[2])
    assert ioplan("run", none, *sim, "--only-exact").code == 2


@pytest.mark.slow
def test_a_resumed_session_leaves_out_the_same_tests(tmp_path, store_path):
    text = """test "Fits" { run random 4KiB 100/0 for 1MiB vary qd in 1 }
test "Too small" { run random 4KiB 100/0, region 0%..0.001% for 1MiB }
"""
    plan, file = plan_file(tmp_path, text), tmp_path / "scratch.bin"
    words = ("--target", file, "--create", "8MiB", "--only-exact")
    assert ioplan("run", plan, *words).code == 0
    plan.write_text(text.replace("qd in 1", "qd in 1, 2"))
    done = ioplan("resume")
    assert done.code == 0, done.err
    assert "skipped: Too small" in done.out
    shown = ioplan("export", "last", "--format", "jsonl").lines
    assert [one["asked"]["test"] for one in shown] == ["Fits", "Fits"]


# gaps of a backend: refused at the clause, or recorded as substitutions

LIMITED = """workload steady_rate = random 4KiB 100/0, rate 1_000 iops

test "Paced" {
  run  steady_rate for 100ms
}

test "Deep" {
  run  random 4KiB 100/0, qd 64 for 100ms
  vary read in 100%, 50%
}
"""


def rate_and_depth(self, job, options):
    """A backend that paces nearly, and has no queue depth above 32."""
    gaps = []
    for stream in job.streams:
        if stream.rate:
            gaps.append(
                Gap(
                    stream=stream.name,
                    field="rate",
                    reason="its clock is coarse",
                    instead="whole milliseconds",
                )
            )
        if stream.qd > 32:
            gaps.append(Gap(stream=stream.name, field="qd", reason="32 at most"))
    return gaps


@pytest.fixture
def limited(monkeypatch):
    monkeypatch.setattr(SimBackend, "gaps", rate_and_depth)


@pytest.mark.promise("backends.refused")
def test_gaps_are_refused_with_the_caret_on_the_clause(limited, tmp_path, store_path):
    done = ioplan("run", plan_file(tmp_path, LIMITED), "--backend", "sim")
    assert done.code == 2 and done.out == ""
    blocks = done.err.strip().split("\n\n")
    assert len(blocks) == 2  # the same clause of two cells is said once
    assert blocks[0].splitlines()[3:5] == [
        " 1 | workload steady_rate = random 4KiB 100/0, rate 1_000 iops",
        "   |                                           ^^^^^^^^^^^^^^^",
    ]
    assert "with --allow rate: whole milliseconds" in blocks[0]
    assert "sim: 32 at most" in blocks[1] and "^^^^^" in blocks[1]
    assert ioplan("ls", "--format", "jsonl").out == ""


@pytest.mark.parametrize(
    "text",
    [
        LIMITED,
        "precondition p { write random 4KiB, qd 64, 1 pass }\n"
        + LIMITED.replace('"Deep" {', '"Deep" { after p').replace(
            "qd 64 for", "qd 4 for"
        ),
    ],
)
def test_what_cannot_be_approximated_is_refused_all_the_same(
    text, limited, tmp_path, store_path
):
    plan = plan_file(tmp_path, text)
    done = ioplan("run", plan, "--backend", "sim", "--allow-approximate")
    assert done.code == 2
    assert "32 at most" in done.err and "coarse" not in done.err


@pytest.mark.promise("backends.allowed")
def test_a_substitution_is_in_every_record(limited, tmp_path, store_path):
    plan = plan_file(tmp_path, LIMITED.replace("qd 64", "qd 8"))
    assert ioplan("run", plan, "--backend", "sim", "--allow", "qd").code == 2
    done = ioplan("run", plan, "--backend", "sim", "--allow", "rate", "--json")
    assert done.code == 0
    said = [record["substitutions"] for record in done.records]
    assert said == [["main.rate: its clock is coarse; whole milliseconds"], [], []]


MIXED = """test "A mix of which a fio job can say a part, under a title that is long" {
  run  random 4KiB 50/50, trim 10%, verify, qd 4, 1 pass
}
"""


@NEEDS_FIO
@pytest.mark.parametrize("more", [(), ("--show-native",), ("--json",)])
@pytest.mark.promise("exit_codes.plan")
def test_a_plan_is_refused_as_its_run_is(tmp_path, more):
    plan = plan_file(tmp_path, MIXED)
    shown = ioplan("plan", plan, "--backend", "fio", *more)
    create = ("--target", tmp_path / "s.bin", "--create", "16MiB")
    ran = ioplan("run", plan, "--backend", "fio", *create)
    assert shown.code == ran.code == 2
    assert shown.err == ran.err and "cannot mix discards" in shown.err
    assert ("impossible" in shown.out) is ("--show-native" not in more)


FACTS = TargetFacts(path="x", kind="file", capacity_bytes=1 << 30, block_bytes=4096)


def steps(text):
    return summary_of(check(Source("plan", text))).io_steps


def test_misfits_are_said_once_each_with_the_test():
    found = steps(
        'precondition p { write random 6KiB, 1 pass }\ntest "A" { after p\n'
        "run random 4KiB for 1s\n vary size in 512B, 4KiB\n vary qd in 1, 2\n"
        "vary read in 100%, 0% }"
    )
    assert misfits(found, FACTS) == [
        (Cause.UNALIGNED, "p: 6144 B is not a multiple of the target's 4096 B blocks"),
        (Cause.UNALIGNED, "A: 512 B is not a multiple of the target's 4096 B blocks"),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        # 0.0006 % of 1 GiB is 6442 B, of which one block is left
        ("region 0%..0.0006%", ""),
        ("region 0%..0.0003%", "region of 0B has no room for an aligned I/O of 4KiB"),
        ("region 0%..1GiB", ""),
        ("region 0%..1.5GiB", "A: its region ends at 1536MiB, and the target at 1GiB"),
        ("region 16GiB..100%", "its region begins at 16GiB, and ends at 1GiB"),
    ],
)
def test_a_region_has_room_on_the_target(words, told):
    text = f'test "A" {{ run random 4KiB 100/0, {words} for 1s }}'
    found = misfits(steps(text), FACTS)
    assert len(found) == bool(told)
    assert all(one.kind is Cause.TOO_SMALL and told in one.text for one in found)


def test_amplification_needs_a_meter(tmp_path, store_path, rough_sim):
    """A file has no log of a drive; the simulated drive tells it."""
    text = (
        "precondition p { write random 4KiB, until steady waf every 1%, at most 1 pass }"
        '\ntest "A" { after p run random 4KiB 100/0 for 1s }'
    )
    plan, target = plan_file(tmp_path, text), tmp_path / "scratch"
    asked = ("run", plan, "--target", target, "--create", "1MiB")
    done = ioplan(*asked, "--backend", "io_uring")
    assert done.code == 2
    assert "p: waf has no meter: only an NVMe drive" in done.err
    assert "write: until steady iops" in done.err.replace("\n", " ")
    assert ioplan(*asked, "--backend", "sim").code == 1


# a session that is refused, or ends before its first run, leaves no folder behind

SHORT = 'test "T" { run random 4KiB 100/0 for 100ms }'
TOO_SMALL = 'test "T" { run random 4KiB 0/100, region 0%..0.001% for 100ms }'
NOT_FIO = 'test "T" { run random 4KiB 50/50, verify for 1s }'
SIM = ("--backend", "sim", "--create", "64MiB")
FIO = ("--backend", "fio", "--option", "engine=psync")


def folders(store):
    return sorted(one.name for one in (store.parent / "sessions").glob("*"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TOO_SMALL, SIM),
        (SHORT, (*SIM, "--baseline", "none")),
        (SHORT, (*SIM, "--allow", "aling")),
        (TOO_SMALL, ("--target", "s.bin", "--create", "1MiB")),
        (SHORT, ("--target", "away.bin")),
        (SHORT, ("--target", "/dev")),
        (NOT_FIO, (*FIO, "--target", "s.bin", "--create", "1MiB")),
        (SHORT, ("--backend", "spdk", "--target", "malloc:64MiB")),
    ],
)
def test_nothing_is_left(text, words, tmp_path, store_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ioplan("run", plan_file(tmp_path, text), *words)
    assert done.code == 2, done.err
    assert folders(store_path) == []
