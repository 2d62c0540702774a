"""The secrets that tests use, each with a mark that nothing else has, so that they are found wherever they leak (K5).

Above: tests that need a secret, and `search`, which looks for them in all that a run of the tests leaves behind.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

MARK = "turnkeepercanary"
"""Stands in each of them; letters only, so that percent and JSON leave it as it is."""

LLAMA_API_KEY = f'{MARK}-llama/key+"1"'
TOOL_PORT_TOKEN = f"{MARK}-port\\token&2"
TOOL_PORT_SECRET = "whsec_" + b64encode(f"{MARK}-signing-key".encode()).decode()
PASSWORD = f"{MARK}-password"
"""A password in an address."""

API_KEY_BYTES = b"ident" + f"{MARK}-of-an-api-key".encode().ljust(32, b".")
"""The random bytes of an API key."""

API_KEY = "tk_nfsgk3tu_" + urlsafe_b64encode(API_KEY_BYTES[5:]).rstrip(b"=").decode()
"""The text of the key that is made of them."""

APPROVER_SEED = f"{MARK}-of-a-signer".encode().ljust(32, b".")
"""The private key of somebody who signs decisions."""

CANARIES: dict[str, bytes] = {
    "LLAMA_API_KEY": LLAMA_API_KEY.encode(),
    "TOOL_PORT_TOKEN": TOOL_PORT_TOKEN.encode(),
    "TOOL_PORT_SECRET": TOOL_PORT_SECRET.encode(),
    "PASSWORD": PASSWORD.encode(),
    "API_KEY": API_KEY.encode(),
    "APPROVER_SEED": APPROVER_SEED,
}


def key_of(name: str) -> str:
    """Give a text that stands for an API key of this name, for a test that has several."""
    return f"{MARK}-key-of-{name}"
