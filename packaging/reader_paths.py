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
README = "README"
SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.S | re.M)
PATHS_AND_README = PATHS | {
    README: "".join(
        f"{line.removeprefix('$ ')}\n"
        for block in SHELL.findall((ROOT / "README.md").read_text())
        for line in block.splitlines()
        if line.removeprefix("$ ").startswith("ioplan ")
    )
}
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
        "short": "smoke",
        "8GiB": "64MiB",
        "/dev/nvme1n1": device,
        SERIAL: disk,
        "/var/lib/volume/scratch": "volume",
        "10GiB": "64MiB",
        "1GiB": "64MiB",
    }
    text = PATHS_AND_README[reader]
    lines = [shlex.split(line, comments=True)[1:] for line in text.splitlines()]
    words = [[known.get(word, word) for word in line] for line in lines]
    return [[*line, *_shorter(line)] for line in words]


def _shorter(words: list[str]) -> list[str]:
    """Options that make a suite, or a plan from a template, a matter of seconds."""
    if words[0] not in ("run", "witness"):
        return []
    if "--profile" in words:
        return []
    is_suite = "/" in words[1] and not words[1].endswith(".ioplan")
    return ["--profile", "smoke"] if is_suite else ["--scale-time", "0.005"]
