"""Verify requests of Turnkeeper with the package `standardwebhooks`."""

from standardwebhooks import Webhook, WebhookVerificationError


def is_from_turnkeeper(secret, headers, body):
    """Tell whether these bytes were signed with this secret within 5 minutes of now."""
    try:
        Webhook(secret).verify(body, dict(headers), json_parse=False)
    except (WebhookVerificationError, ValueError):
        return False
    return True
