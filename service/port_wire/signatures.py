"""Whether a request was signed by whoever has the secret, by Standard Webhooks.

Above: the ports. Below: the library `standardwebhooks`, which compares in constant time and refuses what is older or
newer than 5 minutes. `docs/howto/verify-tool-port-requests.md` does the same without it.
"""

from base64 import b64decode
from http import HTTPStatus

from fastapi import Request
from standardwebhooks import Webhook, WebhookVerificationError

from service.port_wire.problems import Problem

_PREFIX = "whsec_"


class BadSecretError(ValueError):
    """Say that nothing can be verified with a secret; the text doesn't show it."""


class Signatures:
    """Check requests against one secret."""

    def __init__(self, secret: str) -> None:
        """Take the secret as Turnkeeper has it.

        Raises:
            BadSecretError: it has another form.
        """
        encoded = secret.removeprefix(_PREFIX)
        try:
            key = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except ValueError:
            key = b""
        if not key or encoded == secret:
            raise BadSecretError(f"must be {_PREFIX} and base64")
        self._webhook = Webhook(key)

    def check(self, request: Request, body: bytes) -> None:
        """Refuse a request whose signature isn't that of this body, now.

        Raises:
            Problem: 401.
        """
        try:
            self._webhook.verify(body, dict(request.headers), json_parse=False)
        except WebhookVerificationError as error:
            raise _refusal(f"the request is not signed as it has to be: {error}") from error
        except ValueError as error:
            # A signature that isn't base64, a body that isn't UTF-8.
            raise _refusal("the request is not signed as it has to be") from error

    def check_call(self, request: Request, body: bytes) -> None:
        """Refuse a call that isn't signed, or whose idempotency key isn't the id that is signed.

        Raises:
            Problem: 401.
        """
        self.check(request, body)
        # The signature covers no other header: under another key, a call that was overheard would run again.
        if request.headers.get("idempotency-key", "").strip('"') != request.headers["webhook-id"]:
            raise _refusal("Idempotency-Key is not the webhook-id that was signed")


def _refusal(detail: str) -> Problem:
    return Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", detail, {"WWW-Authenticate": "Webhook"})
