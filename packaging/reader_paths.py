"""The steps of docs/paths.md as they are tried: on a file that stands for the drive."""

from __future__ import annotations

import re
import shlex

from static_engine import ROOT

SERIAL = "S4EVNX0R123456"
PATHS = dict(
    re.findall(
        r"^## (.*?)\n.*?^```sh\n(.*?)^```",
        (ROOT / "docs/paths.md").read_text(),
        re.S | re.M,
    )
)
"""The lines of each reader."""
DISK_BYTES = 256 << 20
JUDGES = ("run", "compare", "history")
"""Their exit code may be 1: a loop device is not what a data sheet promises."""


def lab_file(disk: str) -> str:
    """The lab file that names the loop device of a file as the drive."""
    return f'[targets.nvme1n1]\nbacking_file = "{disk}"\nwritable = true\n'


def steps(reader: str, device: str, disk: str) -> list[list[str]]:
    """A reader's commands without `ioplan`, for a loop device and in seconds.

    The word SESSION is left: it is that of the first session.
    """
    known = {
        "/dev/nvme1n1": device,
        SERIAL: disk,
        "/var/lib/volume/scratch": "volume",
        "10GiB": "64MiB",
        "1GiB": "64MiB",
    }
    lines = [shlex.split(line)[1:] for line in PATHS[reader].splitlines()]
    words = [[known.get(word, word) for word in line] for line in lines]
    return [[*line, *_shorter(line)] for line in words]


def _shorter(words: list[str]) -> list[str]:
    """Options that make a suite, or a plan from a template, a matter of seconds."""
    if words[0] not in ("run", "witness"):
        return []
    suite = "/" in words[1]
    return ["--profile", "smoke"] if suite else ["--scale-time", "0.005"]
