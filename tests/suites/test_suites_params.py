"""The params of suites: those that tests use are listed and can be set, no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan, plan_file
from suite_rows import PLANS, plan_of

from ioplan.language import check_file


@pytest.mark.parametrize("name", PLANS)
def test_profiles_set_only_what_tests_use(name: str) -> None:
    profiles = [one for one in PLANS[name].items if type(one).__name__ == "Profile"]
    settings = [each for one in profiles for each in one.settings]
    said = {each.name.text for each in settings if each.value.kind != "name"}
    assert said <= {*plan_of(PLANS[name]).parameters}


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("pts/pts_iops", "pre.steady_most=1 pass"),
        ("pts/pts_cross_stimulus", "pre.wipc_fill=1 pass"),
        ("reviews/p3700", "pre.wipc_fill=1 pass"),
        ("reviews/m9100", "pre.scramble=1 pass"),
        ("quick/datasheet", "pre.scramble=1 pass"),
    ],
)
def test_what_no_test_uses_cannot_be_set(name: str, setting: str) -> None:
    for command in ("check", "plan"):
        done = ioplan(command, name, "--set", setting)
        param = setting.partition("=")[0]
        assert done.code == 2
        assert f"no test uses the param {param!r}" in done.err
        assert f"{', '.join(plan_of(PLANS[name]).parameters)}\n" in done.err
        assert done.err.count("error:") == 1


def test_a_param_is_reached_through_all_that_tests_name(tmp_path: Path) -> None:
    library = """
      param a = 1 pass  param b = 4  param c = b  param d = 3  param e = 2
      precondition inner { write random 4KiB, qd d, a }
      precondition outer { inner idle 1s }
      workload deep = random 4KiB 100/0, qd c
      workload other = random 4KiB 100/0, qd e
    """
    plan_file(tmp_path, library, "library.ioplan")
    plan = """
      use "library.ioplan" as lib
      param unused = 5s  param pause = 1s  param limit = 1ms  param most = 1_500 iops
      test "unused" {
        after lib.outer  run lib.deep for 1s  idle pause
        vary rate in 1_000 iops, 2_000 iops  skip when rate > most
        expect mean < limit
      }
    """
    found = check_file(plan_file(tmp_path, plan))
    known = {"pause", "limit", "most", "lib.a", "lib.b", "lib.c", "lib.d"}
    assert {*found.parameters} == known


def test_an_edited_plan_need_not_use_what_was_set(
    tmp_path: Path, store_path: Path
) -> None:
    """A session that has begun keeps its settings."""
    text = 'param t = 9s test "T" { run random 4KiB 100/0, qd 1 for t }'
    path = plan_file(tmp_path, text)
    done = ioplan("run", path, "--backend", "sim", "--set", "t=1s", "--json")
    assert done.code == 0, done.err
    session = done.of("session")[0]["id"]
    plan_file(tmp_path, text.replace("for t", "for 2s"))
    assert ioplan("check", path, "--set", "t=1s").code == 2
    again = ioplan("resume", session, "--json")
    assert again.code == 0, again.err
