"""What `ioplan` ends with."""

from __future__ import annotations

HELD = 0
"""All is well, and every expectation held."""
EXPECTATION_FAILED = 1
"""An expectation failed, or something is worse, not steady, or not formatted."""
USAGE = 2
"""What is asked for cannot be; nothing was done."""
RUN_FAILED = 3
NOT_DELIVERED = 4
"""All is well, but the lab's results database has not all of it yet."""
INTERRUPTED = 130
