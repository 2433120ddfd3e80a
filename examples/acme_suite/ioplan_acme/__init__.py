"""Storage test plans, found by ioplan through the entry point; there is no code."""
