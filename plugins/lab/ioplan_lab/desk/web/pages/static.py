"""Style and script, which every page uses."""

from __future__ import annotations

from starlette.responses import Response

from ioplan_lab.desk.errors import Missing
from ioplan_lab.desk.web.render import STATIC, static_file
from ioplan_lab.desk.web.request_context import RequestContext, allowed

KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
KEPT = "public, max-age=31536000, immutable"


@allowed(None)
async def file(context: RequestContext) -> Response:
    """One of them, for anybody: the sign-in has them, too."""
    name = context.request.path_params["name"]
    if name not in STATIC:
        raise Missing("there is no such file")
    kind = KINDS[name.rpartition(".")[2]]
    return Response(static_file(name), media_type=kind, headers={"Cache-Control": KEPT})


ROUTES = (("GET", "/static/{digest}/{name}", file),)
