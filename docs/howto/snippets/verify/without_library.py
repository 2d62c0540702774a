"""Verify requests of Turnkeeper with the standard library; the names of headers are in small letters."""

import base64
import hashlib
import hmac
import re
import time


def is_from_turnkeeper(secret, headers, body):
    """Tell whether these bytes were signed with this secret within 5 minutes of now."""
    key = base64.b64decode(secret.removeprefix("whsec_") + "==")
    request_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", sent_at) or abs(time.time() - int(sent_at)) > 300:
        return False
    signed = f"{request_id}.{sent_at}.".encode() + body
    right = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(right, signature.encode()) for signature in given)
