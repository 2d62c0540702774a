"""Headers that every answer carries, whatever it is: nothing of it runs, is framed, guessed at or kept.

The dashboard has its own: it runs what comes from here, and nothing else.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_DASHBOARD_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    # Text becomes markup by way of DOMPurify alone; all other ways throw in the browser.
    "require-trusted-types-for 'script'",
    "trusted-types dompurify",
)

_UNUSED_FEATURES = (
    "accelerometer",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "usb",
)

DASHBOARD_HEADERS = {
    "Content-Security-Policy": "; ".join(_DASHBOARD_POLICY),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED_FEATURES),
    # Kept, but asked about each time: a page never runs with the files of another version.
    "Cache-Control": "no-cache",
}
"""What the dashboard's page and files carry in place of the above, and besides."""


_PAIRS = tuple((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items())

SEND_BODY = "turnkeeper.send_body"
"""Where a scope has the way for all that follows an answer's head: what stands between here and a route looks at the
head alone, and costs a stream a tenth of what a token takes."""


class SecurityHeaders:
    """Add the headers to each answer that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of the server."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                present = {name.lower() for name, _ in headers}
                message["headers"] = [*headers, *[pair for pair in _PAIRS if pair[0] not in present]]
            await send(message)

        scope[SEND_BODY] = send
        await self._app(scope, receive, send_with_headers)
