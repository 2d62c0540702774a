"""The signature of a request to the tool port, by Standard Webhooks (section 8).

Above: `port`. Below: the library `standardwebhooks`, which makes the HMAC.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from standardwebhooks import Webhook


def fresh_id() -> str:
    """Draw the id of a request that has no idempotency key."""
    return f"req_{secrets.token_hex(16)}"


class RequestSigner:
    """Signs bodies with one secret; it never shows the secret."""

    def __init__(self, secret: str, *, now: Callable[[], datetime], new_id: Callable[[], str] = fresh_id) -> None:
        """Take the secret, `whsec_` and base64, which the settings have checked, and a clock that is aware."""
        self._webhook = Webhook(secret)
        self._now = now
        self._new_id = new_id

    def headers(self, body: bytes, *, request_id: str | None = None) -> dict[str, str]:
        """Give the three headers for a request with exactly this body, which is UTF-8.

        `request_id` is the idempotency key of a call; without one the request gets an id of its own.
        """
        signed_as = request_id if request_id is not None else self._new_id()
        # The library takes any time for UTC.
        now = self._now().astimezone(UTC)
        return {
            "webhook-id": signed_as,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(signed_as, now, body.decode()),
        }
