"""ioplan: storage test plans as text, run on any backend, in one schema.

    import ioplan

    plan = ioplan.check("test.ioplan")
    session = ioplan.run(plan, target="scratch.bin", create="1GiB")
    session.held, session.frame(), session.report("report.html")

See `ioplan.api`; it is loaded when it is first used.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ioplan.api.calls import check, run, sessions
    from ioplan.api.plan import Plan
    from ioplan.api.session import Chart, Session
    from ioplan.core.error_kinds import ExplainedError
    from ioplan.language.errors.diagnostic import PlanError

    __version__: str

PUBLIC = {
    **dict.fromkeys(("check", "run", "sessions"), "ioplan.api.calls"),
    **dict.fromkeys(("Chart", "Session"), "ioplan.api.session"),
    "Plan": "ioplan.api.plan",
    "ExplainedError": "ioplan.core.error_kinds",
    "PlanError": "ioplan.language.errors.diagnostic",
}
__all__ = [
    "Chart",
    "ExplainedError",
    "Plan",
    "PlanError",
    "Session",
    "__version__",
    "check",
    "run",
    "sessions",
]


def __getattr__(name: str) -> Any:
    """A public name, read when it is asked for: commands start without them."""
    if name == "__version__":
        found = _version()
    elif name in PUBLIC:
        found = getattr(import_module(PUBLIC[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    found = import_module("ioplan.core.installed").version_of("ioplan")
    return str(found or _of_metadata())


def _of_metadata() -> str:
    try:
        return version("ioplan")
    except PackageNotFoundError:  # imported from the source tree, not installed
        return "0+source"
