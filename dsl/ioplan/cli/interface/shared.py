"""Parameters that several commands take."""

from __future__ import annotations

from ioplan.cli.interface.declare import Parameter, flag, option
from ioplan.cli.interface.request_options import REQUEST_OPTIONS

PLAN = Parameter(
    key="plan",
    metavar="PLAN",
    help="A plan's file, or the name of a suite.",
    kind="path",
    required=True,
    values="plans",
)
PLANS = Parameter(
    key="plans",
    metavar="PLAN",
    help="Plans' files; '-' reads one from standard input.",
    kind="path",
    many=True,
    required=True,
    values="plans",
)
SESSION = Parameter(
    key="session",
    metavar="SESSION",
    help="An id, a prefix of it, or 'last'.",
    default="last",
    values="sessions",
)

SETTINGS = REQUEST_OPTIONS["settings"]
PROFILE = REQUEST_OPTIONS["profile"]
TESTS = REQUEST_OPTIONS["tests"]
SCALE_TIME = REQUEST_OPTIONS["scale_time"]
CREATE = REQUEST_OPTIONS["create"]
BACKEND = REQUEST_OPTIONS["backend"]
ONLY_EXACT = REQUEST_OPTIONS["only_exact"]
BACKEND_OPTIONS = REQUEST_OPTIONS["options"]
LAB = REQUEST_OPTIONS["lab"]
OVERWRITE = REQUEST_OPTIONS["overwrite"]
ON = option("--on", "Drives of the lab by what they are, see docs/labs.md.", "DRIVES")
OVERWRITE_DATA = REQUEST_OPTIONS["overwrite_data"]
CANNOT_SEE_USERS = REQUEST_OPTIONS["cannot_see_users"]
ALLOW = REQUEST_OPTIONS["allow"]
APPROXIMATE = REQUEST_OPTIONS["allow_approximate"]
LIST = flag("--list", "Only list the tests.", key="listed")
STDIN_NAME = option(
    "--stdin-name", "The file name for '-' in errors.", "FILE", kind="path"
)
TARGET = option("--target", "A file or a device.", "TARGET", values="targets")
SIM = option("--sim", "The file of the simulated drive.", "FILE", kind="path")
OVERWRITE_FROM = option(
    "--overwrite-from",
    "Permit overwriting the drives of a list.",
    "FILE",
    kind="path",
)
STORE = option(
    "--store", "The results store; else IOPLAN_STORE, else XDG.", kind="path"
)
ANY_STORE = option("--store", "A store's file, or postgresql://HOST/DATABASE.")
OUTPUT = option("--output -o", "Else, and for '-', stdout.", "FILE", kind="output")
DETACH = flag("--detach", "Targets of the lab: start in the background.")
FORCE = flag("--force", "Replace a file that ioplan did not write.")
QUIET = flag("--quiet -q", "No output.")
JSON_LINES = flag("--json", "JSON lines.")
JSON = flag("--json", "For programs.")
LANE = option("--lane", kind="path", hidden=True)
REQUEST = option("--request", kind="path", hidden=True)
"""A file with a request as JSON, in place of the options that it is of."""
JOB_ID = option("--job", key="job", hidden=True)
"""The id that a job gets: who starts it twice is refused the second time."""


def format_of(names: tuple[str, ...], default: str | None = None) -> Parameter:
    """The option that chooses one of some formats."""
    told = f"{', '.join(names[:-1])} or {names[-1]}."
    values = "|".join(names)
    return option("--format", told, "FORMAT", default=default, values=values)
