"""What Prometheus asks for; it sends the token of a viewer."""

from __future__ import annotations

from starlette.responses import Response

from ioplan_lab.desk.metrics.exposition import CONTENT_TYPE_LATEST, exposition
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.request_context import RequestContext, allowed


@allowed(Role.VIEWER)
async def metrics(context: RequestContext) -> Response:
    """All metrics, in Prometheus's text."""
    text = await context.blocking(exposition, context.desk)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = (("GET", "/metrics", metrics),)
