"""A tool port or a llama-server with a certificate of the operator's own authority, which `SSL_CERT_FILE` names."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.adapters.every_question import ask_everything
from tests.adapters.same_answer import Server, answer

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K4")]

BOUND_S = 20


def certificate(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1 that nobody else has signed, and its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "port.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return file


@asynccontextmanager
async def serving_tls(file: Path) -> AsyncGenerator[Server]:
    server = Server(answer(503))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield server


async def test_it_is_trusted_when_it_is_named_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = await asyncio.to_thread(certificate, tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    async with serving_tls(file) as server, asyncio.timeout(BOUND_S):
        unknown = await ask_everything(server.url)
        heads = list(server.heads)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        known = await ask_everything(server.url)

    assert heads == []
    for name, (text, _) in unknown.items():
        assert "has a certificate that is not trusted" in text or "certificate verify failed" in text, name
    assert len(server.heads) == len(known)
    assert all("503" in text for text, _ in known.values())
