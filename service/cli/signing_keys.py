"""Private keys of approvers in files: made once, for their owner's eyes only, in PEM as other programs read it (A5)."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from service.cli.failure import WRONG_USE, fail
from service.core.ed25519_keys import base64url

_LARGEST = 64 * 1024
"""Bytes read of a file that should hold a key; one has 119."""


def make_key(path: Path) -> str:
    """Write a new private key to a file that isn't there yet; return the public key in base64url.

    Raises:
        typer.Exit: the file is there, or can't be written.
    """
    key = Ed25519PrivateKey.generate()
    try:
        # The mode is set as the file is made, so that at no moment another user can read it.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    except FileExistsError:
        fail(f"{path} is there already, and a private key can't be had back; choose another --key-file")
    except OSError as error:
        fail(f"{path} can't be written: {error.strerror}")
    return base64url(key.public_key().public_bytes_raw())


def read_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key from a file.

    Raises:
        typer.Exit: there is none that can be used.
    """
    try:
        with path.open("rb") as file:
            key = load_pem_private_key(file.read(_LARGEST), password=None)
    except OSError as error:
        fail(f"{path} can't be read: {error.strerror}", exit_code=WRONG_USE)
    except TypeError:
        fail(f"the key in {path} is locked with a passphrase; this command takes it without", exit_code=WRONG_USE)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        fail(f"{path} holds no Ed25519 private key in PEM; make one with --new-key", exit_code=WRONG_USE)
    return key
