"""What `+ - * /` makes of quantities."""

from __future__ import annotations

import re

import pytest

from ioplan.language.arithmetic import reckoned
from ioplan.language.quantity import QuantityError, parse

SUMS = {
    "4KiB * 8": "32KiB",
    "8 * 4KiB": "32KiB",
    "4KiB / 2": "2KiB",
    "8KiB / 4KiB": "2",
    "10s + 5s": "15s",
    "15s - 5s": "10s",
    "10s / 3": "3333333333ns",
    "100 iops * 10s": "1000",
    "1000 / 50 iops": "20s",
    "1000 / 1s": "1_000 iops",
    "4KiB * 1_000 iops": "4096KB/s",
    "200MiB/s / 4KiB": "51_200 iops",
    "200MiB/s * 1s": "200MiB",
    "1GiB / 1s": "1GiB/s",
    "50% * 1_000 iops": "500 iops",
    "1_000 iops * 50%": "500 iops",
    "50% * 50%": "25%",
    "10% / 2": "5%",
    "20% / 10%": "2",
    "2 passes * 3": "6 passes",
}


def found(text: str) -> str:
    left, operator, right = re.fullmatch(r"(.*) ([-+*/]) (.*)", text).groups()  # type: ignore[union-attr]
    return reckoned(operator, parse(left), parse(right)).text


@pytest.mark.parametrize("text", SUMS)
def test_units_go_with_the_numbers(text: str) -> None:
    assert found(text) == SUMS[text]


@pytest.mark.parametrize(
    "text",
    [
        *("1s + 4KiB", "4KiB * 4KiB", "8 / 0", "5KiB / 3", "5s - 10s", "4KiB - 1"),
        *("70/30 * 2", "1s / 1 iops", "2 passes * 1s", "10% + 1", "8 / 10%"),
    ],
)
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        found(text)
