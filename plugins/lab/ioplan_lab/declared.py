"""The entry point of `ioplan.commands`: what the command line knows of the lab."""

from __future__ import annotations

from ioplan_lab.interface.jobs import JOB_COMMANDS
from ioplan_lab.interface.lab import LAB

COMMANDS = (*JOB_COMMANDS, LAB)
