"""What quantities are written as, and what `+ - * /` makes of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import checked

from ioplan import PlanError
from ioplan.planner import Run, unfold

AMOUNT, RATE = "random 4KiB 100/0 for p", "random 4KiB 100/0, rate p for 1s"
SHARE, PASSES = "random 4KiB, read p for 1s", "random 4KiB 0/100, p"
COUNT, MIX = "random 4KiB 100/0, qd p for 1s", "random 4KiB, p for 1s"
WRITTEN = {
    AMOUNT: {
        **{"4 KiB": "4KiB", "4096B": "4KiB", "1.6TB": "1.6TB", "1500B": "1500B"},
        **{"90s": "90s", "120s": "2min", "0.5us": "500ns"},
        **{"4KiB * 8": "32KiB", "8 * 4KiB": "32KiB", "4KiB / 2": "2KiB"},
        **{"10s + 5s": "15s", "15s - 5s": "10s", "10s / 3": "3333333333ns"},
        **{"1000 / (50 iops)": "20s", "200MiB/s * 1s": "200MiB"},
    },
    RATE: {
        **{"50000 iops": "50_000 iops", "1000 / 1s": "1_000 iops"},
        **{"4KiB * (1_000 iops)": "4096KB/s", "200MiB/s / 4KiB": "51_200 iops"},
        **{"1GiB / 1s": "1GiB/s", "50% * (1_000 iops)": "500 iops"},
        "(1_000 iops) * 50%": "500 iops",
    },
    SHARE: {"12.50%": "12.5%", "50% * 50%": "25%", "10% / 2": "5%"},
    PASSES: {"1 passes": "1 pass", "0.5 passes": "0.5 passes", "2 passes * 3": "6 passes"},
    COUNT: {"8KiB / 4KiB": "2", "(100 iops) * 10s": "1000", "20% / 10%": "2"},
    MIX: {"70 / 30": "70/30"},
}  # fmt: skip
"""Where a quantity may stand, and what is made of it."""


def plan_with(quantity: str, use: str) -> str:
    return f'param p = {quantity}\ntest "T" {{ run {use} }}'


@pytest.mark.parametrize(
    ("use", "quantity"), [(use, one) for use, table in WRITTEN.items() for one in table]
)
def test_units_go_with_the_numbers(use: str, quantity: str) -> None:
    found = checked(plan_with(quantity, use)).parameters
    assert found == {"p": WRITTEN[use][quantity]}


@pytest.mark.parametrize(
    "quantity",
    [
        *("1s + 4KiB", "4KiB * 4KiB", "8 / 0", "5KiB / 3", "5s - 10s", "4KiB - 1"),
        *("70/30 * 2", "1s / (1 iops)", "2 passes * 1s", "10% + 1", "8 / 10%"),
        *("8EiB", "٣", "1e9", "-1", "", "1__", "1.", "9" * 19),
    ],
)
def test_what_means_nothing_is_refused(quantity: str) -> None:
    for use in WRITTEN:
        with pytest.raises(PlanError):
            checked(plan_with(quantity, use))


FACTORS = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    **{"h": 3600 * 10**9, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9},
    **{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
}


@given(st.decimals(1, 10**6, places=3), st.sampled_from(sorted(FACTORS)))
def test_a_quantity_is_exact_and_its_text_is_the_same(
    number: Decimal, unit: str
) -> None:
    exact = number * FACTORS[unit]
    text = plan_with(f"{number:f}{unit}", AMOUNT)
    if exact != exact.to_integral_value():
        with pytest.raises(PlanError):
            checked(text)
        return
    plan = checked(text)
    for one in (plan, checked(plan_with(plan.parameters["p"], AMOUNT))):
        (step,) = unfold(one)
        assert isinstance(step, Run)
        assert (step.length.run_ns or step.length.limit_bytes) == exact
