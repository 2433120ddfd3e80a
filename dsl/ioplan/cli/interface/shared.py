"""Parameters that several commands take."""

from __future__ import annotations

from ioplan.cli.interface.declare import Parameter, flag, option

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

SETTINGS = option(
    "--set",
    "Set a param; may be repeated.",
    "NAME=VALUE",
    key="settings",
    many=True,
    values="params",
)
PROFILE = option(
    "--profile",
    "Use the param values of this profile.",
    "NAME",
    default="full",
    values="profiles",
)
TESTS = option(
    "--test",
    "Only tests with a matching title, for example 'Random*'; may be repeated.",
    "GLOB",
    key="tests",
    many=True,
    values="tests",
)
LIST = flag("--list", "Only list the tests.", key="listed")
STDIN_NAME = option(
    "--stdin-name", "The file name for '-' in errors.", "FILE", kind="path"
)
SCALE_TIME = option(
    "--scale-time",
    "Multiply every duration, for example by 0.01 for a trial.",
    kind="number",
    default=1.0,
)
TARGET = option("--target", "A file or a device.", "TARGET", values="targets")
CREATE = option(
    "--create", ("Create the scratch file if it is missing, for example 1GiB."), "SIZE"
)
BACKEND = option(
    "--backend",
    "io_uring, fio, spdk or sim; default: the lab's, else io_uring.",
    "NAME",
    values="backends",
)
LAB = option("--lab", "The lab file; else IOPLAN_LAB, else XDG.", kind="path")
SIM = option("--sim", "The file of the simulated drive.", "FILE", kind="path")
BACKEND_OPTIONS = option(
    "--option", "An option of the backend.", "NAME=VALUE", key="options", many=True
)
OVERWRITE = option(
    "--overwrite", "Permit overwriting this target (its ID).", "ID", many=True
)
OVERWRITE_DATA = option(
    "--overwrite-data", "Also if it contains data.", "ID", many=True
)
OVERWRITE_FROM = option(
    "--overwrite-from",
    "Permit overwriting the drives of a list.",
    "FILE",
    kind="path",
)
ALLOW = option(
    "--allow",
    "Accept these approximations, for example align,distribution.",
    "NAMES",
    many=True,
)
APPROXIMATE = flag("--allow-approximate", "Accept all documented approximations.")
ONLY_EXACT = flag(
    "--only-exact", ("Run the tests that are supported exactly; list the others.")
)
STORE = option(
    "--store", "The results store; else IOPLAN_STORE, else XDG.", kind="path"
)
ANY_STORE = option("--store", "A store's file, or postgresql://HOST/DATABASE.")
OUTPUT = option("--output -o", "Else, and for '-', stdout.", "FILE", kind="path")
DETACH = flag("--detach", "Targets of the lab: start in the background.")
FORCE = flag("--force", "Replace a file that ioplan did not write.")
FORMAT = option(
    "--format",
    "json, jsonl, csv or parquet.",
    "FORMAT",
    values="json|jsonl|csv|parquet",
)
TAGS = option(
    "--tag",
    "A tag to find it by; may be repeated.",
    "WORD",
    key="tags",
    many=True,
)
NOTE = option("--note", "A note stored with the results.", "TEXT", default="")
PERSON = option("--person", default="", hidden=True)
QUIET = flag("--quiet -q", "No output.")
JSON_LINES = flag("--json", "JSON lines.")
JSON = flag("--json", "For programs.")
LANE = option("--lane", kind="path", hidden=True)
REQUEST = option("--request", kind="path", hidden=True)
"""A file with a request as JSON, in place of the options that it is of."""
JOB_ID = option("--job", key="job", hidden=True)
"""The id that a job gets: who starts it twice is refused the second time."""
