"""The kinds of classic lints, by the names that `accept` takes."""

from __future__ import annotations

UNWRITTEN, CACHE, FRESH, RATE = "unwritten reads", "cache", "fresh state", "rate"
KINDS = (UNWRITTEN, CACHE, FRESH, RATE)

LEFT_OUT = "tests left out"
"""Accepted by a plan whose other tests run where a backend cannot do all exactly."""
ACCEPTED = (*KINDS, LEFT_OUT)
"""What a plan may accept."""
