"""ioplan: storage test plans as text, run on any backend, in one schema.

    import ioplan

    plan = ioplan.check("test.ioplan")
    session = ioplan.run(plan, target="scratch.bin", create="1GiB")
    session.held, session.frame(), session.report("report.html")

See `ioplan.api`; it is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ioplan.api.calls import Plan, check, run, sessions
    from ioplan.api.session import Chart, Session
    from ioplan.core.error_kinds import ExplainedError
    from ioplan.core.version import __version__
    from ioplan.language.errors.diagnostic import PlanError

PUBLIC = {
    **dict.fromkeys(("check", "run", "sessions"), "ioplan.api.calls"),
    **dict.fromkeys(("Chart", "Session"), "ioplan.api.session"),
    "Plan": "ioplan.api.calls",
    "ExplainedError": "ioplan.core.error_kinds",
    "PlanError": "ioplan.language.errors.diagnostic",
    "__version__": "ioplan.core.version",
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
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
