"""Recorded traces as ordinary plans, with their distance from what was recorded."""
