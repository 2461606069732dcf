"""Gradio's own queue when it is full: refused in the page's words, not in Gradio's."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.session import FULL


def _in_words(_: Request, error: Exception) -> Response:
    detail = str(getattr(error, "detail", ""))  # starlette's HTTPException, by its status
    return JSONResponse({"detail": FULL.text if "Queue is full" in detail else detail}, 503)


#: of the server, beside its routes and middleware
IN_WORDS = {503: _in_words}
