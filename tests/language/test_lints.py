"""Classic lints are told of, with what to write; what is right is not."""

import json
import os
import re

import pytest
from command import ioplan, last_records, plan_file, succeed
from plans import checked

from ioplan import DriveAccount, PlanError
from ioplan.backends import TargetFacts
from ioplan.language.lints.lints import CACHE, FRESH, KINDS, RATE, UNWRITTEN, lints
from ioplan.planner import suite_file, suite_names
from ioplan.results.store import Store
from ioplan.runner.session.recorder import lints_on
from ioplan.runner.state.state_ledger import known_account

NEW = "precondition new { purge }\n"
FULL = "precondition full { purge write sequential 128KiB, 2 passes }\n"
HALF = "precondition half { purge write sequential 128KiB, region 0%..50%, 1 pass }\n"
STEADY = (
    "precondition full { purge write random 4KiB, until steady iops every 1s, "
    "at most 8 passes }\n"
)
READ = "run random 4KiB 100/0 for 1s"
WRITE = "run random 4KiB 0/100 for 1s"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NEW + f'test "T" {{ after new {READ} }}', [UNWRITTEN]),
        (NEW + f'test "T" {{ after new {READ} vary qd in 1, 2 }}', [UNWRITTEN]),
        (HALF + f'test "T" {{ after half {READ} }}', [UNWRITTEN]),
        (HALF + f'test "T" {{ after half {READ}, region 50%..99% }}', [UNWRITTEN]),
        (NEW + f'test "T" {{ after new {WRITE} }}', [FRESH]),
        (NEW + 'test "T" { after new run random 4KiB 0/100, 2 passes }', [FRESH]),
        (HALF + f'test "T" {{ after half {WRITE}, region 0%..50% }}', [FRESH]),
        (HALF + f'test "T" {{ after half {WRITE} }}', [FRESH]),
        (f'test "T" {{ {READ}, region 0%..0.05% }}', [CACHE]),
        (f'test "T" {{ {READ}, rate 5_000_000 iops }}', [RATE]),
        (f'test "T" {{ {READ}, qd 2, rate 4GiB/s }}', [RATE]),
    ],
)
def test_a_mistake_is_told_of(text, found, tmp_path):
    (one,) = warned(tmp_path, text)
    assert one["severity"] == "warning"
    assert [kind for kind in KINDS if f'accept "{kind}"' in one["help"]] == found
    assert one["help"].partition("; or accept it")[0]
    assert warned(tmp_path, f'accept "{found[0]}"\n{text}') == []


def warned(folder, text):
    """What `check` says of a plan."""
    done = succeed("check", "--format", "json", plan_file(folder, text))
    found: list[dict[str, str]] = json.loads(done.out)
    return found


@pytest.mark.parametrize(
    "text",
    [
        f'test "T" {{ {READ} }}',  # whether anything is on the target is not known
        f'test "T" {{ {WRITE} }}',
        FULL + f'test "T" {{ after full {READ} }}',
        FULL + f'test "T" {{ after full {WRITE} }}',
        STEADY + f'test "T" {{ after full {WRITE} {READ} }}',
        HALF + f'test "T" {{ after half {READ}, region 10%..50% }}',
        NEW + 'test "T" { after new run random 4KiB 0/100, until steady iops every 1s, '
        "at most 8 passes }",
        NEW + 'test "T" { after new run sequential 128KiB 0/100, 1 pass\n'
        f"{READ} {WRITE} }}",
        f'test "T" {{ {READ}, region 0%..1% }}',
        f'test "T" {{ {READ}, threads 4, qd 32 each, rate 2_000_000 iops total }}',
    ],
)
def test_what_is_right_is_not(text, tmp_path):
    assert warned(tmp_path, text) == []


@pytest.mark.long
def test_no_suite_makes_one():
    for name in (one for one in suite_names() if not one.startswith("std/")):
        path = suite_file(name)
        assert path
        found = ioplan("check", path)
        assert (found.code, found.err) == (0, ""), name


# on a target


def facts(path):
    return TargetFacts(
        path=str(path), kind="file", capacity_bytes=path.stat().st_size, block_bytes=512
    )


@pytest.mark.parametrize(("percent", "told"), [(0, 0), (1, 0), (5, 1), (40, 1)])
def test_scattered_holes_are_told_from_5_percent(percent, told, tmp_path):
    target, blocks = tmp_path / "target", 2000
    holes = set(range(0, blocks, 100 // percent)) if percent else set()
    with target.open("wb") as file:
        for block in set(range(blocks)) - holes:
            os.pwrite(file.fileno(), os.urandom(4096), block * 4096)
        file.truncate(blocks * 4096)
    plan = checked(f'test "T" {{ {READ} }}')
    found = lints_on(plan, facts(target), account(target))
    assert [one.kind for one in found] == [UNWRITTEN] * told


def account(path):
    with Store.open(path.parent / "results.db") as store:
        return known_account(store, facts(path))


@pytest.mark.parametrize(
    ("written_mib", "region", "told"),
    [
        *((8, "", ""), (7, "", "12 %"), (5, "", "38 %"), (0, "", "100 %")),
        *((7, ", region 90%..100%", "100 %"), (6, ", region 0%..75%", "")),
    ],
)
def test_how_much_of_a_file_was_never_written_is_said(
    written_mib, region, told, tmp_path
):
    target = tmp_path / "target"
    target.write_bytes(os.urandom(written_mib << 20))
    os.truncate(target, 8 << 20)
    plan = checked(f'test "T" {{ {READ}{region} }}')
    found = [one.text for one in lints_on(plan, facts(target), account(target))]
    assert [one.partition(" of the blocks it reads")[0] for one in found] == [
        told
    ] * bool(told)


def test_what_is_read_is_looked_at(tmp_path):
    plan = checked(f'test "T" {{ {READ} }}')
    target = tmp_path / "target"
    unknown = DriveAccount.begun(8 << 20)
    target.write_bytes(bytes(8 << 20))
    (found,) = lints_on(plan, facts(target), unknown)
    assert (found.kind, found.text[:10]) == (UNWRITTEN, "about 100 ")
    target.write_bytes(bytes(1 << 20) + os.urandom(7 << 20))
    (found,) = lints_on(plan, facts(target), unknown)
    assert found.text.startswith(("about 12 %", "about 13 %"))
    target.write_bytes(os.urandom(8 << 20))
    assert lints_on(plan, facts(target), unknown) == ()
    filled = checked(FULL + f'test "T" {{ after full {READ} }}')
    target.write_bytes(bytes(8 << 20))
    assert lints_on(filled, facts(target), unknown) == ()


@pytest.mark.parametrize(
    ("path", "kind", "found"),
    [
        ("/dev/zram0", "block", [CACHE]),
        ("/dev/ram1", "block", [CACHE]),
        ("/dev/sda", "block", []),
        ("/nowhere/ram1", "file", []),
        ("/dev/shm/scratch", "file", [CACHE]),
    ],
)
def test_a_target_in_memory_is_no_drive(path, kind, found):
    one = TargetFacts(path=path, kind=kind, capacity_bytes=1 << 30, block_bytes=512)
    plan = checked(FULL + f'test "T" {{ after full {READ} }}')
    unknown = DriveAccount.begun(1 << 30)
    assert [one.kind for one in lints_on(plan, one, unknown)] == found


def test_a_known_capacity_says_what_is_short():
    text = NEW + 'test "T" { after new run random 4KiB 0/100 for 10GiB }'
    assert [one.kind for one in lints(checked(text), 1 << 40)] == [FRESH]
    assert [one.kind for one in lints(checked(text), 1 << 33)] == [FRESH]
    assert list(lints(checked(text), 1 << 30)) == []


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('test "T" { after new run random 4KiB 0/100, %s 4 passes }', "at most 7 passes"),
        ('test "T" { after new run sequential 64KiB 0/100, %s 0.5 passes }', "at most 1 "),
        (
            "precondition p { purge write random 8KiB, %s 3 passes }\n"
            f'test "T" {{ after p {READ} }}',
            "at most 7 passes",
        ),
    ],
)  # fmt: skip
@pytest.mark.promise("steady.at_most")
def test_at_most_that_cannot_suffice_is_an_error(text, help):
    known = NEW + "precondition filled { purge write sequential 128KiB, 1 pass }\n"
    text = known + text % "until steady iops every 1s, at most"
    with pytest.raises(PlanError) as error:
        checked(text)
    (found,) = error.value.diagnostics
    assert "steady state needs more than 'at most'" in found.message
    assert found.help.startswith(help)
    checked(f'accept "fresh state"\n{text}')


def test_a_run_warns_before_it_and_in_the_record(tmp_path, store_path):
    text = f'test "T" {{ {READ.replace("1s", "100ms")} vary qd in 1, 2 }}'
    path = plan_file(tmp_path, text)
    done = ioplan("run", path, "--backend", "sim", "--json")
    (warned,) = done.of("warning")
    assert warned["kind"] == UNWRITTEN and "write it before" in warned["help"]
    order = [one["type"] for one in done.lines]
    assert order.index("warning") < order.index("step")
    records = last_records(store_path)
    told = "100 % of the blocks it reads were never written"
    assert [one.state.lacks for one in records if one.state] == [told] * 2
    assert warned["text"].startswith(told)
    assert told in " ".join(ioplan("show").out.split())
    kept = plan_file(tmp_path, f'accept "unwritten reads"\n{text}', "b.ioplan")
    done = ioplan("run", kept, "--backend", "sim", "--json")
    assert done.of("warning") == []
    told = ioplan("run", path, "--backend", "sim").out
    assert (
        told.partition("T ─")[0].count("of the blocks it reads were never written: ")
        == 1
    )


# slips: what people write from habit leads to the right text

RUN = "run random 4KiB 70/30"
SLIPS = {
    "run random 4KiB 0/100, until steady iops every 1s over 5, at most 4 passes": (
        "run random 4KiB 0/100, until steady iops every 1s, over 5, at most 4 passes"
    ),
    f"{RUN} for 1 minute": f"{RUN} for 1min",
    f"{RUN} for 30 seconds": f"{RUN} for 30s",
    f"{RUN} for 2 hrs": f"{RUN} for 2h",
    "run random 4KiB 70:30 for 1min": f"{RUN} for 1min",
    "run random 4KiB 70 : 30 for 1min": f"{RUN} for 1min",
    "run random 4KiB 70% reads for 1min": f"{RUN} for 1min",
    "run random 4KiB 70% read for 1min": f"{RUN} for 1min",
    "run random 4KiB 30 % writes for 1min": f"{RUN} for 1min",
    f"{RUN}, zipf:1.1 for 1min": f"{RUN}, zipf 1.1 for 1min",
    f"{RUN}, qd:8 for 1min": f"{RUN}, qd 8 for 1min",
    f"{RUN}, compress 50% for 1min": f"{RUN}, data compressible 50% for 1min",
    f"{RUN}, compression 30% for 1min": f"{RUN}, data compressible 30% for 1min",
    f"{RUN} for 1min expect p99 < 1000": f"{RUN} for 1min expect p99 < 1000us",
    f"{RUN} for 1min expect mean <= 20": f"{RUN} for 1min expect mean <= 20us",
    f"{RUN} for 1min seek highest qd from 1 to 128 where p99 <= 1ms": (
        f"{RUN} for 1min seek highest qd in 1..128 where p99 <= 1ms"
    ),
    f"{RUN} for 1min vary qd from 1 to 128": f"{RUN} for 1min vary qd in 1..128 doubling",
    "run random 70/30 for 1min vary size from 4KiB to 1MiB": (
        "run random 70/30 for 1min vary size in 4KiB..1MiB doubling"
    ),
}
"""Each with what is meant."""
ROUNDS = f"{RUN} for 1min rounds 5"
HELP = re.compile(r"write: (.+)|write for example (.+)|is written as: (.+)")


def errors(text):
    with pytest.raises(PlanError) as error:
        checked(text)
    return error.value.diagnostics


def written(help):
    """What a help says to write."""
    found = HELP.search(help)
    assert found, help
    return next(filter(None, found.groups()))


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_leads_to_the_right_text(slip):
    (one,) = errors(f'test "T" {{ {slip} }}')
    assert written(one.help) in SLIPS[slip] and written(one.help) not in slip
    assert "expected" not in one.message
    assert checked(f'test "T" {{ {SLIPS[slip]} }}').tests


def test_a_number_of_rounds_leads_to_repeat_or_to_a_limit():
    (one,) = errors(f'test "T" {{ {ROUNDS} }}')
    first, second = written(one.help).split(", or: ")
    assert (first, second) == (
        "repeat 5 { run … }",
        "rounds until steady iops, at most 5",
    )
    assert checked(f'test "T" {{ {first.replace("run …", f"{RUN} for 1min")} }}').tests
    assert checked(f'test "T" {{ {RUN} for 1min vary qd in 1 {second} }}').tests


def test_a_size_for_a_length_leads_to_the_length():
    found = errors('test "T" { run random 4KiB 70/30, size 10GiB }')
    assert all("for 10GiB" in one.help for one in found)
    assert checked('test "T" { run random 4KiB 70/30 for 10GiB }').tests


@pytest.mark.parametrize("slip", [*SLIPS, ROUNDS])
def test_other_errors_are_told_beside_it(slip):
    """In the same statement, in the same test, and in others."""
    text = (
        f'test "T" {{ {slip.replace("random 4KiB ", "random 5KB ")} expect nothing < 3 }}\n'
        'test "U" { run random 4KiB 170/30 for 1min }\n'
        'test "V" { run nowhere for 1min }\n'
    )
    messages = " ".join(one.message for one in errors(text))
    for said in ("170/30 adds up", "no workload 'nowhere'", "unknown metric 'nothing'"):
        assert said in messages
    assert ("5000 B is not a multiple" in messages) == ("4KiB " in slip[:16])


@pytest.mark.parametrize(
    "text",
    [
        "run random 4KiB 70/30 for 1 min",
        "run random 4 KiB 70/30 for 30 s",
        "run random 4KiB 70/30 for 1min chart lines iops by qd vary qd in 1, 2",
    ],
)
def test_what_is_right_is_no_slip(text):
    assert checked(f'test "T" {{ {text} }}').tests
