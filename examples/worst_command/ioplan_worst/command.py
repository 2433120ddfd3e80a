"""`ioplan worst`; imported when it is called."""

from ioplan import latency_text
from ioplan.cli import print_line, results_at


def worst(*, session, count, store):
    """Print the cells with the longest I/Os, the longest first."""
    with results_at(store) as results:
        found = results.session(session)
        records = [one for one in results.records(found.id) if one.total.latency]
    records.sort(key=lambda one: one.total.latency.max_ns, reverse=True)
    for one in records[:count]:
        cell = ", ".join(f"{axis} {value}" for axis, value in one.asked.cell.items())
        print_line(
            f"{latency_text(one.total.latency.max_ns):>8}  {one.asked.test}: {cell}"
        )
