"""Headers of every answer of the server, for browsers to be strict with it."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Scripts are not restricted, as Gradio needs inline ones and `new Function`; nor is who may put
#: the page into a frame, as Hugging Face does.
HEADERS = {
    "Content-Security-Policy": "object-src 'none'; base-uri 'self'; form-action 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Strict:
    """Adds the headers to what an app answers; an answer's own ones stay."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_strictly)


STRICT = Middleware(_Strict)
