"""Options of a request: `pytest --renew` writes them, from RunRequest's fields.

A table, because help and completion do without pydantic.
"""

from __future__ import annotations

from ioplan.cli.interface.declare import Parameter, flag, option

REQUEST_OPTIONS: dict[str, Parameter] = {
    "targets": option(
        "--target",
        "A file, a device, or a target or group of the lab; may be repeated.",
        "TARGET",
        key="targets",
        values="targets",
        many=True,
    ),
    "tests": option(
        "--test",
        "Only tests with a matching title, for example 'Random*'; may be repeated.",
        "GLOB",
        key="tests",
        values="tests",
        many=True,
    ),
    "create": option(
        "--create",
        "Create the scratch file if it is missing, for example 1GiB.",
        "SIZE",
        key="create",
    ),
    "backend": option(
        "--backend",
        "io_uring, fio, spdk or sim; else the lab's, io_uring, or fio.",
        "NAME",
        key="backend",
        values="backends",
    ),
    "options": option(
        "--option", "An option of the backend.", "NAME=VALUE", key="options", many=True
    ),
    "lab": option(
        "--lab", "The lab file; else IOPLAN_LAB, else XDG.", "", key="lab", kind="path"
    ),
    "settings": option(
        "--set",
        "Set a param; may be repeated.",
        "NAME=VALUE",
        key="settings",
        values="params",
        many=True,
    ),
    "profile": option(
        "--profile",
        "Use the param values of this profile.",
        "NAME",
        key="profile",
        values="profiles",
        default="full",
    ),
    "scale_time": option(
        "--scale-time",
        "Multiply every duration, for example by 0.01 for a trial.",
        "",
        key="scale_time",
        kind="number",
        default=1.0,
    ),
    "interval": option(
        "--interval",
        "The reporting interval; default: 1s, shorter in runs below 10s.",
        "TIME",
        key="interval",
        default="",
    ),
    "within": option(
        "--within",
        "End on time: shorten runs and rounds, and say first what that tells.",
        "TIME",
        key="within",
        default="",
    ),
    "overwrite": option(
        "--overwrite",
        "Permit overwriting this target (its ID).",
        "ID",
        key="overwrite",
        many=True,
    ),
    "overwrite_data": option(
        "--overwrite-data",
        "Also if it contains data.",
        "ID",
        key="overwrite_data",
        many=True,
    ),
    "cannot_see_users": flag(
        "--cannot-see-users",
        "Write also where programs that use the target cannot be seen.",
        key="cannot_see_users",
    ),
    "allow": option(
        "--allow",
        "Accept these approximations, for example align,distribution.",
        "NAMES",
        key="allow",
        many=True,
    ),
    "allow_approximate": flag(
        "--allow-approximate",
        "Accept all documented approximations.",
        key="allow_approximate",
    ),
    "only_exact": flag(
        "--only-exact",
        "Run the tests that are supported exactly; list the others.",
        key="only_exact",
    ),
    "baseline": option(
        "--baseline",
        "The baseline: a session, TAG, last, last@TARGET or drive:SERIAL.",
        "SESSION",
        key="baseline",
        values="sessions",
    ),
    "fresh": flag(
        "--fresh",
        "Repeat preconditions even if the target is already in that state.",
        key="fresh",
    ),
    "tags": option(
        "--tag", "A tag to find it by; may be repeated.", "WORD", key="tags", many=True
    ),
    "note": option(
        "--note", "A note stored with the results.", "TEXT", key="note", default=""
    ),
    "person": option("--person", "", "", key="person", hidden=True, default=""),
}
