"""Requests that differ from the default one."""

from pathlib import Path

from ioplan.records import RunRequest

VALID = {
    "lab": Path("/other.toml"),
    "interval": "250ms",
    "within": "4h",
}


def other(model, name):
    """A value of a field that is not its default one."""
    default = model.model_fields[name].get_default(call_default_factory=True)
    if name in VALID:
        return VALID[name]
    if isinstance(default, bool):
        return not default
    kinds = {tuple: ("other=1",), dict: {"other": "1"}, float: 2.0}
    return kinds.get(type(default), "other")


def full_request():
    """A request that says something of each field."""
    names = RunRequest.model_fields
    return RunRequest.model_validate({name: other(RunRequest, name) for name in names})
