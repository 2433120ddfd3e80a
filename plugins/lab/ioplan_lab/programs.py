"""The programs that ioplan starts, for the packages below that start them."""

from ioplan_lab.cluster.hosts.programs import Programs

PROGRAMS = Programs(
    cli="ioplan.cli",
    lane="ioplan_lab.workers.lane",
    participant="ioplan_lab.workers.participant",
)
