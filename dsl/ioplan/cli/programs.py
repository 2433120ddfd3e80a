"""The programs that ioplan starts, for the packages below that start them."""

from ioplan.cluster.hosts.programs import Programs

PROGRAMS = Programs(
    cli="ioplan.cli",
    lane="ioplan.cli.workers.lane",
    participant="ioplan.cli.workers.participant",
)
