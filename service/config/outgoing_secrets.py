"""The settings that are sent or signed with: the forms that they must have, never told with their values (K5)."""

from __future__ import annotations

from base64 import b64decode

from pydantic import SecretStr

_PREFIX = "whsec_"
# As Standard Webhooks has it: fewer could be guessed, more would be hashed before they are used.
_LEAST_BYTES = 24
_MOST_BYTES = 64
_FORM = f"must be {_PREFIX} and the base64 of {_LEAST_BYTES} to {_MOST_BYTES} random bytes"


def check_signing_secret(secret: SecretStr) -> SecretStr:
    """Give the secret as it is, when requests can be signed with it.

    Raises:
        ValueError: it has another form.
    """
    text = secret.get_secret_value()
    if not text.startswith(_PREFIX):
        raise ValueError(_FORM)
    encoded = text.removeprefix(_PREFIX)
    try:
        # Strictly: the library leaves out what isn't base64, and would sign with another secret than was meant.
        # Padding may be missing, as other senders of such requests have it.
        key = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        raise ValueError(_FORM) from None
    if not _LEAST_BYTES <= len(key) <= _MOST_BYTES:
        raise ValueError(_FORM)
    return secret


def check_bearer_token(token: SecretStr) -> SecretStr:
    """Give the token as it is, when it can stand in a header.

    Raises:
        ValueError: it can't.
    """
    text = token.get_secret_value()
    # A line break would end the header and begin another.
    if text != text.strip() or not all(" " <= character <= "~" for character in text):
        raise ValueError("must be ASCII without line breaks, and without spaces at its ends: it is sent in a header")
    return token
