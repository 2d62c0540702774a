"""A tool port or a llama-server with a certificate of the operator's own authority, which `SSL_CERT_FILE` names."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.adapters.every_question import ask_everything
from tests.adapters.same_answer import Server, answer
from tests.fakes.certificate import Certificate, make_certificate

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K4")]

BOUND_S = 20


@asynccontextmanager
async def serving_tls(certificate: Certificate) -> AsyncGenerator[Server]:
    server = Server(answer(503))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate.file, certificate.key)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield server


async def test_it_is_trusted_when_it_is_named_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = await asyncio.to_thread(make_certificate, tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    async with serving_tls(certificate) as server, asyncio.timeout(BOUND_S):
        unknown = await ask_everything(server.url)
        heads = list(server.heads)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
        known = await ask_everything(server.url)

    assert heads == []
    for name, (text, _) in unknown.items():
        assert "has a certificate that is not trusted" in text or "certificate verify failed" in text, name
    assert len(server.heads) == len(known)
    assert all("503" in text for text, _ in known.values())
