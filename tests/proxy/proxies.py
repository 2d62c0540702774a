"""nginx and Caddy with the samples of `deploy/proxy`, in which only addresses, ports and places of files are others."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.certificate import NAME, Certificate
from tests.proxy.programs import program
from tests.web.serving import BOUND_S

SAMPLES = Path(__file__).parents[2] / "deploy/proxy"
SERVER = "127.0.0.1:8000"
SITE = "turnkeeper.example"

_NGINX = """\
daemon off;
user {user};
worker_processes 1;
pid nginx.pid;
error_log stderr notice;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include sample.conf;
}}
"""


@dataclass
class Proxy:
    """One that runs."""

    url: str
    plain_url: str
    process: asyncio.subprocess.Process
    folder: Path
    said: list[str] = field(default_factory=list[str])

    def logs(self) -> str:
        """Give all that it has written."""
        files = [file.read_text(encoding="utf-8") for file in self.folder.glob("*.log")]
        return "".join([*self.said, *files])


Run = Callable[[Path, Certificate, int], AbstractAsyncContextManager[Proxy]]
"""Runs a proxy with its files in a folder, before a port of this machine."""


def replaced(text: str, **changes: tuple[str, str]) -> str:
    """Replace each by the other; none may be missing."""
    for old, new in changes.values():
        assert old in text, f"the sample has no {old!r}"
        text = text.replace(old, new)
    return text


def nginx_sample(folder: Path, certificate: Certificate, upstream: int, ports: tuple[int, int]) -> str:
    """Give the sample with this test's addresses and places."""
    tls, plain = ports
    return replaced(
        (SAMPLES / "nginx.conf").read_text(encoding="utf-8"),
        server=(SERVER, f"127.0.0.1:{upstream}"),
        plain_6=("    listen [::]:80;\n", ""),
        plain=("listen 80;", f"listen 127.0.0.1:{plain};"),
        tls_6=("    listen [::]:443 ssl http2;\n", ""),
        tls=("listen 443 ", f"listen 127.0.0.1:{tls} "),
        certificate=(f"/etc/letsencrypt/live/{SITE}/fullchain.pem", str(certificate.file)),
        key=(f"/etc/letsencrypt/live/{SITE}/privkey.pem", str(certificate.key)),
        log=("/var/log/nginx/turnkeeper.log", str(folder / "access.log")),
        leading_on=(f"https://{SITE}/", f"https://{NAME}:{tls}/"),
        name=(SITE, NAME),
    )


@asynccontextmanager
async def nginx(
    folder: Path, certificate: Certificate, upstream: int, change: Callable[[str], str] = str
) -> AsyncGenerator[Proxy]:
    """Run nginx with the sample, or with what `change` makes of it."""
    executable = program("nginx", "nginx-light")
    tls, plain = ports = _free_ports()
    sample = nginx_sample(folder, certificate, upstream, ports)
    (folder / "sample.conf").write_text(change(sample), encoding="utf-8")
    user = pwd.getpwuid(os.getuid()).pw_name
    (folder / "nginx.conf").write_text(_NGINX.format(user=user), encoding="utf-8")
    command = (executable, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf"))
    async with _running(command, folder, b"start worker process ", ports=(tls, plain)) as proxy:
        yield proxy


def caddy_sample(folder: Path, certificate: Certificate, upstream: int, ports: tuple[int, int]) -> str:
    """Give the sample with this test's addresses and places; it asks nobody for a certificate."""
    tls, plain = ports
    places = f"\tadmin off\n\tdefault_bind 127.0.0.1\n\tstorage file_system {folder / 'storage'}\n"
    return replaced(
        (SAMPLES / "Caddyfile").read_text(encoding="utf-8"),
        server=(SERVER, f"127.0.0.1:{upstream}"),
        options=("\n{\n", f"\n{{\n{places}\thttp_port {plain}\n\thttps_port {tls}\n"),
        certificate=(f"\n{SITE} {{\n", f"\n{SITE} {{\n\ttls {certificate.file} {certificate.key}\n"),
        leading_on=(f"https://{SITE}/", f"https://{NAME}:{tls}/"),
        name=(SITE, NAME),
    )


@asynccontextmanager
async def caddy(folder: Path, certificate: Certificate, upstream: int) -> AsyncGenerator[Proxy]:
    """Run Caddy with the sample."""
    executable = program("caddy", "caddy")
    ports = _free_ports()
    sample = caddy_sample(folder, certificate, upstream, ports)
    file = folder / "Caddyfile"
    file.write_text(sample, encoding="utf-8")
    command = (executable, "run", "--adapter", "caddyfile", "--config", str(file))
    async with _running(command, folder, b"serving initial configuration", ports=ports) as proxy:
        yield proxy


RUNS: dict[str, Run] = {"nginx": nginx, "caddy": caddy}


@asynccontextmanager
async def _running(
    command: tuple[str, ...], folder: Path, ready: bytes, ports: tuple[int, int]
) -> AsyncGenerator[Proxy]:
    # Whatever it keeps of its own lies in the folder.
    surroundings = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=surroundings, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    tls, plain = ports
    proxy = Proxy(f"https://{NAME}:{tls}", f"http://{NAME}:{plain}", process, folder)
    listening = asyncio.Event()
    reading = asyncio.create_task(_read(process, proxy.said, ready, listening), name=f"log of {command[0]}")
    try:
        async with asyncio.timeout(BOUND_S):
            await listening.wait()
        assert process.returncode is None, proxy.logs()
        yield proxy
    finally:
        if process.returncode is None:
            # It is told to end first: nginx takes its workers with it.
            process.terminate()
        async with asyncio.timeout(BOUND_S):
            await process.wait()
            await reading


async def _read(process: asyncio.subprocess.Process, said: list[str], ready: bytes, listening: asyncio.Event) -> None:
    assert process.stderr is not None
    async for line in process.stderr:
        said.append(line.decode())
        if ready in line:
            listening.set()
    # What ended before it listened is not waited for.
    listening.set()


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]
