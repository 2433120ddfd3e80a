"""What plans say of traces, and what becomes of a trace that is not as it was."""

import json

import numpy as np
import pytest
from bundles import forged, members_in
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from msgspec.structs import replace

from ioplan.language import FULL, Source, check_file, check_recorded
from ioplan.planner import Run, unfold
from ioplan.trace import DTYPE, Prepared, TraceError, file_of, known_survey, write

PLAN = 'trace web = "web.iotrace"\ntest "A" { run replay web, speed 20 }'


def recorded(folder, **columns):
    made = np.zeros(1000, DTYPE)
    made["time_ns"], made["size"] = np.arange(1000) * 1_000_000, 4096
    for name, values in columns.items():
        made[name] = values
    write(folder / "web.iotrace", [made])
    return made


def run(folder, backend, *more):
    target: tuple[object, ...] = ("--create", "4MiB")
    if backend != "sim":
        target = ("--target", folder / "scratch", *target)
    return ioplan(
        "run", plan_file(folder, PLAN), "--backend", backend, *target, *more, "--json"
    )


def test_a_larger_trace_than_the_target_is_refused(tmp_path):
    recorded(tmp_path, offset=np.arange(1000) * 8192)
    for backend in ("sim", "io_uring"):
        done = run(tmp_path, backend)
        assert done.code != 0
        assert (
            "its trace ends at 7996KiB, and the target at 4MiB: write offsets wrapped"
            in done.err
        )


def test_a_larger_trace_than_its_region_is_refused(tmp_path):
    recorded(tmp_path, offset=np.arange(1000) * 4096)
    plan = plan_file(tmp_path, PLAN.replace("speed 20", "region 50%..75%"))
    done = ioplan("run", plan, "--backend", "sim", "--create", "8MiB")
    assert done.code == 2
    told = "its trace ends at 8096KiB, and its region at 6MiB: write offsets wrapped"
    assert told in done.err
    assert ioplan("run", plan, "--backend", "sim", "--create", "16MiB").code == 0


@pytest.mark.slow
def test_blocks_smaller_than_the_targets_are_refused(tmp_path):
    recorded(tmp_path, size=100)
    done = run(tmp_path, "io_uring")
    assert done.code != 0 and "100 B is not a multiple" in done.err


def test_a_trace_that_is_not_there_is_one_error(tmp_path):
    """And not as many as a replay without a trace lacks clauses."""
    done = ioplan("check", plan_file(tmp_path, PLAN))
    assert done.code == 2 and done.err.count("error:") == 1, done.err
    assert "web.iotrace" in done.err


def test_the_speed_that_is_sought_is_not_named(tmp_path):
    """Neither the first one that is tried, nor the highest."""
    recorded(tmp_path)
    seek = "seek highest speed in 1..64 where p99 <= 5ms"
    plan = plan_file(tmp_path, PLAN.replace(", speed 20", f" {seek}"))
    asked = "replay at the recorded times, at the speed that is sought: what this drive"
    for words in (("plan", plan), ("check", "--list", plan), ("plan", plan, "--json")):
        assert asked in " ".join(ioplan(*words).out.split())


@NEEDS_FIO
def test_a_hint_names_what_the_plan_says(tmp_path):
    """And what it names is accepted."""
    recorded(tmp_path)
    plan = plan_file(tmp_path, PLAN)
    target = ("--target", tmp_path / "scratch", "--create", "8MiB")
    done = ioplan("run", plan, *target, "--backend", "fio")
    assert "with --allow replay: read_iolog: late" in done.err
    shown = ioplan("plan", plan, "--backend", "fio").out
    assert "--allow replay accepts what is approximate" in shown
    allowed = ioplan("plan", plan, "--backend", "fio", "--allow", "replay")
    assert allowed.code == 0 and "would refuse it" not in allowed.out


def test_what_replays_nothing_says_so_once(tmp_path):
    """Whatever else the plan says of the replay."""
    recorded(tmp_path)
    more = "speed 20, only reads, offsets wrapped"
    plan = plan_file(tmp_path, PLAN.replace("speed 20", more))
    done = ioplan("plan", plan, "--backend", "spdk")
    lines = done.out.partition("impossible   A")[2].split("\n")[1:]
    reasons = [line for line in lines if line.startswith("  ")]
    assert len(reasons) == 1 and "replay" in reasons[0], done.out


@pytest.mark.slow
def test_a_plan_says_which_question_each_replay_answers(tmp_path):
    """In the plan, in the list of tests, and beside the figures."""
    recorded(tmp_path)
    text = """trace web = "web.iotrace"
    trace answered = "std/answered.iotrace"
    test "A" { run replay web vary speed in 20, 40 }
    test "B" { run replay web as fast as possible }
    test "C" { run replay answered after completion }
    test "D" { run random 4KiB 100/0 for 1s }"""
    plan = plan_file(tmp_path, text)
    asked = [
        "replay at the recorded times, speed 20, 40: what this drive does with",
        "replay as fast as possible: how fast this drive does the same I/Os",
        "replay after completion: how this drive does for an application that",
    ]
    target = ("--backend", "io_uring", "--target", tmp_path / "scratch.bin")
    assert ioplan("run", plan, *target, "--create", "8MiB", "--quiet").code == 0
    page = tmp_path / "r.html"
    assert ioplan("report", "last", "-o", page).code == 0
    pages = [ioplan("check", "--list", plan).out, ioplan("plan", plan).out]
    pages += [ioplan("show", "last", "--tables").out, page.read_text()]
    for shown in pages:
        words = " ".join(shown.split())
        assert [words.count(one) for one in asked] == [1, 1, 1]
    steps = json.loads(ioplan("plan", plan, "--json").out)["steps"]
    said = [step.get("answers") for step in steps]
    assert "speed 40: what this" in said[1][0] and said[-1] is None


def test_a_trace_that_changes_after_the_check_is_not_replayed(tmp_path):
    """The engine is asked for the trace that the plan was checked with."""
    recorded(tmp_path)
    facts = known_survey(tmp_path / "web.iotrace").facts
    assert file_of(facts.digest) == tmp_path / "web.iotrace"
    recorded(tmp_path, size=8192)
    with pytest.raises(TraceError, match="has changed"):
        file_of(facts.digest)


def test_a_record_is_checked_without_the_trace(tmp_path, store_path):
    recorded(tmp_path)
    assert run(tmp_path, "sim").code == 0
    (tmp_path / "web.iotrace").unlink()
    assert ioplan("report", "-o", tmp_path / "r.html").code == 0
    missing = ioplan("check", tmp_path / "plan.ioplan")
    assert missing.code == 2 and "there is no file 'web.iotrace'" in missing.err


@pytest.fixture
def bundle(tmp_path, store_path):
    """Of a replay on sim, whose trace is deleted afterwards."""
    return bundled(tmp_path)


def bundled(folder, *more, gone=False):
    recorded(folder, kind=np.arange(1000) % 2)
    assert run(folder, "sim").code == 0
    if gone:
        (folder / "web.iotrace").unlink()
    done = ioplan("bundle", "last", "-o", folder / "b.ioplan-bundle", *more)
    assert done.code == 0, done.err
    assert ("web.iotrace is not in the bundle" in done.err) == gone
    (folder / "web.iotrace").unlink(missing_ok=True)
    return folder / "b.ioplan-bundle"


def test_a_bundle_has_the_trace_and_can_be_repeated(tmp_path, bundle):
    done = ioplan("unbundle", bundle, "-o", tmp_path / "out")
    assert done.code == 0 and "not in the bundle" not in done.out, done.err
    (plan,) = (tmp_path / "out").glob("*/plan.ioplan")
    assert ioplan("check", plan).code == 0
    again = recorded(tmp_path, kind=np.arange(1000) % 2)
    found = Prepared.open(plan.parent / "web.iotrace").ios
    assert (found == again).all()
    (tmp_path / "web.iotrace").unlink()
    assert ioplan("run", bundle).code == 0


def test_another_trace_in_a_bundle_is_refused(tmp_path, bundle):
    data = bundle.read_bytes()
    traces = {n: d for n, d in members_in(data).items() if n.endswith(".iotrace")}
    ((name, trace),) = traces.items()
    for changed in ({name: trace[:-1] + b"x"}, {"1/trace/2.iotrace": b"IOTRACE1"}):
        bundle.write_bytes(forged(data, changed))
        done = ioplan("unbundle", bundle, "--check")
        assert done.code == 2 and "Traceback" not in done.err
        told = "not the one that was replayed", "belongs to nothing"
        assert any(one in done.err for one in told), done.err


def test_a_redacted_bundle_has_a_model_only(tmp_path, store_path):
    done = ioplan("unbundle", bundled(tmp_path, "--redact"), "-o", tmp_path / "out")
    assert done.code == 0, done.err
    (model,) = (tmp_path / "out").glob("*/web.model.ioplan")
    assert f"{model}: a model of web.iotrace" in done.out
    assert ioplan("check", model).code == 0
    assert "A model of 1,000 I/Os" in model.read_text()
    assert not list((tmp_path / "out").glob("*/*.iotrace"))


@pytest.mark.parametrize("entries", [{}, {"gone": "no_such_module:model"}])
def test_without_the_plugin_a_redacted_bundle_has_no_model(
    entries, tmp_path, store_path, monkeypatch
):
    """Neither installed nor, where its folder is deleted, loaded; the bundle is made."""
    found = "ioplan.cli.interface.plugins.entry_values"
    monkeypatch.setattr(found, lambda _: entries)
    recorded(tmp_path, kind=np.arange(1000) % 2)
    assert run(tmp_path, "sim").code == 0
    bundle = tmp_path / "b.ioplan-bundle"
    done = ioplan("bundle", "last", "-o", bundle, "--redact")
    told = " ".join(done.err.split())
    assert done.code == 0, done.err
    lack = "web.iotrace has no model in the bundle: no plug-in that makes one is"
    assert told.count(lack) == 1 and "Traceback" not in told
    members = members_in(bundle.read_bytes())
    assert not [one for one in members if one.endswith((".iotrace", ".model.ioplan"))]


def test_a_bundle_says_which_trace_it_lacks(tmp_path, store_path):
    folder = tmp_path / "out"
    recorded(tmp_path, kind=np.arange(1000) % 2)
    digest = known_survey(tmp_path / "web.iotrace").facts.digest
    bundle = bundled(tmp_path, gone=True)
    done = ioplan("unbundle", bundle, "-o", folder)
    assert done.code == 0, done.err
    assert "web.iotrace: a trace, not in the bundle" in done.out and digest in done.out
    (plan,) = folder.glob("*/plan.ioplan")
    assert ioplan("check", plan).code == 2
    recorded(plan.parent, kind=np.arange(1000) % 2)
    assert ioplan("check", plan).code == 0


def test_rare_sizes_count_as_the_largest(tmp_path):
    sizes = np.repeat(4096 * np.arange(1, 101), np.arange(1000, 900, -1))
    made = np.zeros(len(sizes), DTYPE)
    made["time_ns"], made["size"] = np.arange(len(sizes)) * 1000, sizes
    write(tmp_path / "web.iotrace", [made])
    (step,) = unfold(check_file(plan_file(tmp_path, PLAN)))
    assert isinstance(step, Run)
    found = step.workload.streams[0].read_sizes
    assert len(found) <= 64 and found[-1].size_bytes == 409600
    assert sum(one.percent for one in found) == pytest.approx(100)
    assert found[0].size_bytes == 4096


def test_the_facts_of_a_part_are_those_of_the_file_that_cut_makes(tmp_path):
    drawn = np.random.default_rng(1)
    kinds, sizes = drawn.integers(0, 2, 1000), drawn.integers(1, 9, 1000) * 4096
    recorded(tmp_path, kind=kinds, size=sizes, offset=drawn.integers(0, 99, 1000) << 12)
    whole, out = tmp_path / "web.iotrace", tmp_path / "cut.iotrace"
    assert ioplan("trace", "cut", whole, "200ms..600ms", "-o", out).code == 0
    part = known_survey(whole).part((200_000_000, 600_000_000))
    alone = known_survey(out).facts
    same = replace(alone, digest=part.digest, from_ns=part.from_ns, to_ns=part.to_ns)
    assert part == same and part.ios == 400
    assert part.digest == known_survey(whole).facts.digest


def test_the_longest_time_without_an_io_is_that_of_what_is_replayed(tmp_path):
    """Also before its first one and after its last, and whatever is cut where."""
    kinds = (np.arange(1000) // 300).clip(0, 1)
    times = np.arange(1000) * 1_000_000
    times[500:] += 40_000_000_000
    flags = np.where((kinds == 1) & (np.arange(1000) % 2 == 0), 1, 0)
    recorded(tmp_path, kind=kinds, time_ns=times, flags=flags)
    known = known_survey(tmp_path / "web.iotrace")
    facts = known.facts
    assert facts.moving.quiet_ns >= 40_001_000_000
    assert facts.selected("reads", False).moving.quiet_ns == 40_700_000_000
    assert facts.selected("writes", False).moving.quiet_ns == 40_001_000_000
    assert facts.moving.fua == 350 and not facts.selected("all", True).moving.fua
    assert known.part((0, 10**9)).writes.quiet_ns == 300_000_000
    assert known.part((0, 10**9)).reads.quiet_ns == 200_000_000


def test_what_is_selected_is_another_run(tmp_path):
    """And the same text the same run, with the file and without it."""
    recorded(tmp_path, kind=np.arange(1000) % 3 % 2)
    steps = (
        *("replay web", "replay web 0s..1s", "replay web 200ms..600ms"),
        *("replay web, only reads", "replay web, writes as reads"),
        *("replay web as fast as possible", "replay web 0s..1s as fast as possible"),
    )
    ids = {step: run_ids(tmp_path, step) for step in steps}
    assert len(set(ids.values())) == len(steps)
    text = (
        'trace web = "web.iotrace"\nprecondition w { write footprint of web }\n'
        f'test "A" {{ after w run {steps[2]} }}'
    )
    plan = check_file(plan_file(tmp_path, text))
    (tmp_path / "web.iotrace").unlink()
    source = Source("plan.ioplan", text)
    again = check_recorded(source, plan.files, {}, 1.0, FULL)
    assert run_ids_of(again) == run_ids_of(plan)


def run_ids(folder, step):
    text = f'trace web = "web.iotrace"\ntest "A" {{ run {step} }}'
    return run_ids_of(check_file(plan_file(folder, text)))


def run_ids_of(plan):
    return tuple(step.run_id for step in unfold(plan) if isinstance(step, Run))
