"""What goes wrong between hosts."""

from ioplan.core.error_kinds import CommandFault, ExplainedError


class ClusterError(ExplainedError):
    """The lab's hosts cannot do it; the text says what, where, and what to do."""

    kind = CommandFault.CLUSTER
