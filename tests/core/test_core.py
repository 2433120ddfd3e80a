"""Moderated variances: the functions behind them, and what they do."""

import random
import sys
from math import inf, pi
from statistics import fmean, variance

import pytest

from ioplan import CommandFault, ExplainedError
from ioplan.cli import Command
from ioplan.cli.app import call_command
from ioplan.core.statistics.shared_variance import (
    Variance,
    digamma,
    inverse_trigamma,
    moderated,
    trigamma,
)

EULER = 0.5772156649015329


def test_the_functions_at_known_places():
    assert digamma(1) == pytest.approx(-EULER, abs=1e-9)
    assert digamma(10) == pytest.approx(2.251752589066721, abs=1e-9)
    assert trigamma(1) == pytest.approx(pi**2 / 6, abs=1e-8)
    assert trigamma(0.5) == pytest.approx(pi**2 / 2, abs=1e-8)
    assert inverse_trigamma(trigamma(3.7)) == pytest.approx(3.7, abs=1e-9)


def sample(rng, deviation, values=5):
    return Variance(
        variance(rng.gauss(0, deviation) for _ in range(values)), values - 1
    )


def test_groups_of_one_variance_share_it():
    rng = random.Random(1)
    found = moderated([sample(rng, 2.0) for _ in range(200)])
    assert fmean(one.degrees for one in found) > 25
    assert all(2.5 < one.value < 6.5 for one in found)


def test_groups_of_other_variances_keep_their_own():
    rng = random.Random(2)
    own = [sample(rng, 10.0**n) for n in range(-3, 4) for _ in range(5)]
    for before, after in zip(own, moderated(own), strict=True):
        assert after.degrees < 6
        assert before.value < 1 or after.value == pytest.approx(before.value, rel=0.6)


def test_few_groups_tell_nothing_of_each_other():
    own = [Variance(1.0, 4.0), Variance(2.0, 4.0)]
    assert moderated(own) == own
    assert moderated([]) == []


def test_equal_variances_are_known_for_certain():
    assert {one.degrees for one in moderated([Variance(1.0, 4.0)] * 6)} == {inf}


# what a call says where the library of an extra is not installed


@pytest.mark.parametrize(
    ("package", "call", "text", "kind"),
    [
        (
            "sched",
            lambda: call_command(Command("up", "", "sched:scheduler", extra="lab"), {}),
            ("`ioplan up` needs sched", "lab"),
            CommandFault.USAGE,
        ),
    ],
)
def test_the_command_that_installs_it(package, call, text, kind, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExplainedError) as error:
        call()
    what, extra = text
    pip = f"{sys.executable} -m pip install 'ioplan[{extra}]'"  # where ioplan is
    assert (str(error.value), error.value.kind) == (f"{what}: {pip}", kind)
