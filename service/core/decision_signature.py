"""Signed decisions: what an approver signs, and whether a signature is right (A5).

Above: whoever takes a decision in, runs an approved call, or verifies a log. Below: `ed25519_keys`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from service.core.ed25519_keys import SIGNATURE_BYTES, base64url, from_base64url, read_public_key
from service.core.records import DecisionSignature
from service.core.visible import visible

DECISION_DOMAIN = "turnkeeper.decision.v1"
"""Stands first in what is signed, so that the signature is one of nothing else."""

NAME_CHARACTERS = 64
"""Characters that the name of an approver's key may have."""

_PADDING = "=="


@dataclass(frozen=True, slots=True)
class ApproverKeys:
    """The public keys of those who may decide, by name, 32 bytes each; without any, decisions need no signature."""

    keys: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def fault_of(
        self, digest: str, *, approved: bool, arguments: str | None, signature: DecisionSignature | None
    ) -> str | None:
        """Say in a sentence what is wrong with a decision's signature; None when it holds, or none is needed."""
        if not self.keys:
            return None
        if signature is None:
            return "it is not signed, and approver_keys is set, so that each decision needs a signature."
        # Many languages pad base64url, so a signature may come either way; a key of ours is written one way.
        unpadded = signature.value.removesuffix(_PADDING)
        key, value = self.keys.get(signature.key), from_base64url(unpadded, SIGNATURE_BYTES)
        if key is None:
            return f'it is signed with the key "{visible(signature.key, NAME_CHARACTERS)}", which approver_keys lacks.'
        if value is None:
            return "its signature is not 64 bytes in base64url (86 characters and, if you like, ==)."
        if not _holds(key, value, digest, approved, arguments, signature.key):
            return (
                f'its signature is not one of the key "{signature.key}" for this decision: another key signed, or the '
                "digest, the answer, the arguments or the key's name are not those that were signed."
            )
        return None


def read_approver_keys(texts: Mapping[str, str]) -> ApproverKeys:
    """Read the setting `approver_keys`: public keys in base64url without padding, by the names of their owners.

    Raises:
        ValueError: a name or a key can't be used; the text is a clause that says which and what it must be.
    """
    return ApproverKeys({_key_name(name): _public_key(name, text) for name, text in texts.items()})


def fault_of_key_name(name: str) -> str | None:
    """Say in a clause why a key can't have this name; None when it can."""
    if 0 < len(name) <= NAME_CHARACTERS and visible(name, NAME_CHARACTERS) == name:
        return None
    shown = visible(name, NAME_CHARACTERS)
    return f'"{shown}" is no name for a key: it must be 1 to {NAME_CHARACTERS} characters, all of them visible'


def sign_decision(
    private_key: Ed25519PrivateKey, key: str, digest: str, *, approved: bool, arguments: str | None
) -> DecisionSignature:
    """Sign a decision in the name of a key; `arguments` are the raw text that the approver put in place, if any.

    Raises:
        ValueError: a text holds half of a surrogate pair, which UTF-8 can't hold.
    """
    return DecisionSignature(key=key, value=base64url(private_key.sign(signed_text(digest, approved, arguments, key))))


def signed_text(digest: str, approved: bool, arguments: str | None, key: str) -> bytes:
    """Give the bytes that are signed.

    Raises:
        ValueError: a text holds half of a surrogate pair, which UTF-8 can't hold.
    """
    said = [DECISION_DOMAIN, digest, approved, arguments, key]
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def _holds(key: bytes, value: bytes, digest: str, approved: bool, arguments: str | None, name: str) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(value, signed_text(digest, approved, arguments, name))
    except (InvalidSignature, ValueError):
        # What UTF-8 can't hold, nobody can have signed.
        return False
    return True


def _key_name(name: str) -> str:
    fault = fault_of_key_name(name)
    if fault is not None:
        raise ValueError(fault)
    return name


def _public_key(name: str, text: str) -> bytes:
    try:
        return read_public_key(text)
    except ValueError as error:
        raise ValueError(f'the key of "{name}" {error}') from error
