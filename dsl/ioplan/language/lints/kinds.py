"""The kinds of classic lints, by the names that `accept` takes."""

from __future__ import annotations

UNWRITTEN, CACHE, FRESH, RATE = "unwritten reads", "cache", "fresh state", "rate"
KINDS = (UNWRITTEN, CACHE, FRESH, RATE)
