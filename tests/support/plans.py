"""Plans from their text, for tests of what comes after the checker, and all texts."""

from golden import Golden
from ioplan.language import Source, check, installed_plans

FAMILIES = ("language", "format", "plans")


def checked(text, scale=1.0, **settings):
    """The checked plan. Raises PlanError."""
    return check(Source("plan.ioplan", text), settings=settings, time_scale=scale)


def every_plan():
    """Of golden cases, and those that are installed."""
    found = [one.input for name in FAMILIES for one in Golden(name).values()]
    found += [one.expected["plan"] for one in Golden("imports").values()]
    paths = sorted(installed_plans().resolve().rglob("*.ioplan"))
    return found + [path.read_bytes().decode() for path in paths]
