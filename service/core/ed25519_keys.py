"""Ed25519 public keys and signatures as text: base64url without padding, in exactly one spelling (A5).

Above: `decision_signature`. Here too: which 32 bytes are no key at all, or one that anybody can sign for.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")

# Curve: -x² + y² = 1 + d·x²·y² modulo p (RFC 8032, section 5.1).
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_OF_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_OF_SMALL_ORDER = frozenset({0, 1, _P - 1, _OF_ORDER_8, _P - _OF_ORDER_8})
"""The y of all points whose order divides 8: for such a key, signatures can be made without any private key."""


def base64url(value: bytes) -> str:
    """Write bytes in base64url without padding."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def from_base64url(text: str, length: int) -> bytes | None:
    """Read so many bytes; None when the text is anything but the one spelling that `base64url` gives them."""
    if not _BASE64URL.fullmatch(text) or len(text) != -(-length * 4 // 3):
        return None
    value = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    # The last character has bits to spare, which would make many spellings of one value.
    return value if base64url(value) == text else None


def read_public_key(text: str) -> bytes:
    """Read a public key.

    Raises:
        ValueError: it is none, or one that anybody can sign for; the text is a clause that says what it must be.
    """
    key = from_base64url(text, PUBLIC_KEY_BYTES)
    if key is None:
        raise ValueError("must be an Ed25519 public key: 43 characters of base64url (A-Z a-z 0-9 - _) without padding")
    y = int.from_bytes(key, "little") & (2**255 - 1)
    if not _is_on_curve(y) or y in _OF_SMALL_ORDER:
        raise ValueError("is no Ed25519 public key, though it has the length of one; make one with turnkeeper sign")
    return key


def _is_on_curve(y: int) -> bool:
    # x² = (y² - 1) / (d·y² + 1) has a root exactly if the product of both has one: Euler's criterion.
    return y < _P and pow((y * y - 1) * (_D * y * y + 1), (_P - 1) // 2, _P) in (0, 1)
