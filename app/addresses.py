"""Two plain addresses beside the page: how the server is, and a run's trace for ten minutes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.session import Session

#: a trace holds text of a stranger's page: a file to save, never a document of this site
AS_FILE = {
    "Content-Disposition": 'attachment; filename="trace.jsonl"',
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
GONE = {"error": "There is no such run, or it is more than ten minutes old."}


def addresses(session: Session) -> list[Route]:
    """GET /health (503 where there is no model) and GET /trace/RUN (404 where there is none)."""

    def health(_: Request) -> Response:
        value = session.health()
        return JSONResponse(value, 503 if value["model"] == "missing" else 200)

    def trace(request: Request) -> Response:
        text = session.trace(request.path_params["run"])
        if text is None:
            return JSONResponse(GONE, 404)
        return Response(text, media_type="application/x-ndjson", headers=AS_FILE)

    return [Route("/health", health), Route("/trace/{run}", trace)]
