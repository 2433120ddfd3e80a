"""A metric's value as text."""

from __future__ import annotations

import pytest

from ioplan import metric_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4096, "4096 B"),
        (131_072, "131072 B"),
        (1 << 20, "1 MiB"),
        (3 << 20, "3 MiB"),
        (51_200_000, "51.2 MB"),
        (2_000_000_000_000, "2.00 TB"),
    ],
)
def test_bytes_are_a_block_size_or_an_amount(value: float, text: str) -> None:
    assert metric_text(value, "B") == text
