"""What Prometheus asks for; it sends the token of a viewer."""

from __future__ import annotations

from starlette.responses import Response

from ioplan_lab.desk.metrics.exposition import CONTENT_TYPE_LATEST, exposition
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.visit import Visit, allowed


@allowed(Role.VIEWER)
async def metrics(visit: Visit) -> Response:
    """All metrics, in Prometheus's text."""
    text = await visit.blocking(exposition, visit.desk)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = (("GET", "/metrics", metrics),)
