"""Recorded I/O, to be replayed."""
