"""Our own secrets in what others say: a server that refuses a request may repeat the key that came with it (K5).

Pure. Above: the adapters, for all text of llama-server and of the tool port that is shown or kept. Below: nothing.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote

MASK = "[secret]"

LEAST_CHARACTERS = 8
"""Shorter secrets are not masked: their letters stand in any text, and it would be spoilt."""


class SecretMasking:
    """Takes secrets out of texts: as they are, percent-encoded, in base64, and as JSON writes them, once or twice."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= LEAST_CHARACTERS for form in _forms_of(secret)}
        # A form may hold another one, which must not be taken out of its middle first.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def masked(self, text: str) -> str:
        """Give the text without the secrets, nor the beginning of one where the text was cut."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        cut = max((_beginning_at_end(text, form) for form in self._forms), default=0)
        return f"{text[:-cut]}{MASK}" if cut else text


def _forms_of(secret: str) -> Iterator[str]:
    once = json.dumps(secret)[1:-1]
    yield from (secret, quote(secret, safe=""), quote(secret), once, json.dumps(once)[1:-1])
    # As JSON may be written, too.
    yield once.replace("/", "\\/")
    yield from _in_base64(secret.encode(errors="replace"))


def _in_base64(secret: bytes) -> Iterator[str]:
    """Give what of a secret's base64 doesn't depend on what stands around it, for each place it may stand at."""
    for offset in range(3):
        first, last = -(-8 * offset // 6), 8 * (offset + len(secret)) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(b"\0" * offset + secret).decode()[first:last]


def _beginning_at_end(text: str, form: str) -> int:
    """Say how many characters at the end of a text are the beginning of this form, when they are enough to tell."""
    lengths = range(min(len(form) - 1, len(text)), LEAST_CHARACTERS - 1, -1)
    return next((length for length in lengths if text.endswith(form[:length])), 0)
