"""Traces of other programs, converted by the command line."""

import re

from command import ioplan

from ioplan.trace import Prepared, known_survey


def converted(data, folder, *words):
    """The I/Os of a trace, and what was left out of it."""
    path, out = folder / "trace", folder / "out.iotrace"
    path.write_bytes(data)
    done = ioplan("trace", "convert", path, "-o", out, "--force", *words)
    assert done.code == 0, done.err
    known_survey(out)
    left = re.findall(r"^left out: (.*): (\d+)$", done.out, re.MULTILINE)
    return Prepared.open(out).ios, {reason: int(count) for reason, count in left}


def info_of(path):
    """What is in a trace, as it is shown."""
    done = ioplan("trace", "info", path)
    assert done.code == 0, done.err
    return done.out


def figure(text, pattern):
    """A number of what is shown."""
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])
