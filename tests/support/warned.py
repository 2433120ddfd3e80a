"""Warnings of a run, without those of what the host did meanwhile."""

OF_THE_HOST = (
    *("latencies include it", "the generator, not the drive", "frequency changed"),
    *("the hypervisor stole", "CPUs throttled", "timers are only as fine"),
    "its programs, ioplan or the machine stood still",
    "another session of ioplan used",
)


def not_of_the_host(warnings):
    """What is left is said on a calm machine as well."""
    return tuple(one for one in warnings if not any(w in one for w in OF_THE_HOST))
