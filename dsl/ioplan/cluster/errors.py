"""What goes wrong between hosts."""


class ClusterError(Exception):
    """The lab's hosts cannot do it; the text says what, where, and what to do."""
