"""What may be called by name: /ask and /ask_stream. Gradio hides private events, but runs them."""

from __future__ import annotations

import re

from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api import ENDPOINTS

NAMED = re.compile(r"/gradio_api/(?:call(?:/v2)?|run|api)/([^/]+)")
#: "predict" is what the page's own script says for an event that it knows by its number
ALLOWED = {*ENDPOINTS, "predict"}
UNKNOWN = {"error": "There is no such endpoint: /ask and /ask_stream are there."}


class _PublicOnly:
    """Answers 404 for the name of an event that is not public."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = NAMED.search(scope["path"]) if scope["type"] == "http" else None
        if named and named[1] not in ALLOWED:
            await JSONResponse(UNKNOWN, 404)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


PUBLIC_ONLY = Middleware(_PublicOnly)
