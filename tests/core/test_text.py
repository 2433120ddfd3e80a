"""Texts for people."""

from __future__ import annotations

from ioplan.core.text import did_you_mean


def test_the_same_word_is_not_meant() -> None:
    assert did_you_mean("sise", ["size", "rate"]) == ", did you mean 'size'?"
    assert did_you_mean("size", ["size", "rate"]) == ""
    assert did_you_mean("nothing like it", ["size"]) == ""
