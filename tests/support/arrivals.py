"""How many I/Os a rate has asked for, whatever else a busy machine had to do."""


def arrivals(record):
    """Those that were done, and those that were due and not issued at the end."""
    return record.total.ios + sum(stream.backlog_ios for stream in record.streams)
