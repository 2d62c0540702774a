"""`python -m service.example_port`, as a process of its own."""

import ast
import asyncio
import os
import signal
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from standardwebhooks import Webhook

import service.example_port
from service.example_port.__main__ import main
from tests.example_port.port_client import BOUND_S, PortClient

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]

ROOT = Path(__file__).parents[2]
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


async def start(*arguments: str, token: str | None = None, secret: str | None = None) -> asyncio.subprocess.Process:
    given = {"TOOL_PORT_TOKEN": token, "EXAMPLE_PORT_SECRET": secret}
    environment = {name: value for name, value in os.environ.items() if name not in given}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "service.example_port",
        *arguments,
        cwd=ROOT,
        env=environment | {name: value for name, value in given.items() if value is not None},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def end(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    """Send Ctrl-C; give the exit status and what stood on stderr."""
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    return process.returncode, errors.decode()


async def url_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().split()[-1]


async def test_it_says_where_it_listens_serves_calls_and_ends_quietly() -> None:
    async with asyncio.timeout(3 * BOUND_S):
        process = await start("--port", "0")
        async with httpx.AsyncClient(base_url=await url_of(process), trust_env=False) as http:
            answer = await PortClient(http).call("get_weather", {"city": "Paris"}, key='"ses_1/1"')
        status, errors = await end(process)
    assert answer == {"status": "result", "content": "18 degrees, sunny"}
    assert status == 0
    assert "'get_weather': result" in errors
    assert "Traceback" not in errors
    assert "warning" not in errors


async def test_the_token_comes_from_the_environment_and_is_never_written() -> None:
    async with asyncio.timeout(3 * BOUND_S):
        process = await start("--port", "0", token="swordfish")
        async with httpx.AsyncClient(base_url=await url_of(process), trust_env=False) as http:
            refused = await http.get("/tools")
            http.headers["Authorization"] = "Bearer swordfish"
            allowed = await PortClient(http).call("list_notes", {})
        status, errors = await end(process)
    assert refused.status_code == 401
    assert allowed["status"] == "result"
    assert status == 0
    assert "swordfish" not in errors


async def test_the_secret_comes_from_the_environment_and_is_never_written() -> None:
    async with asyncio.timeout(3 * BOUND_S):
        process = await start("--port", "0", secret=SECRET)
        async with httpx.AsyncClient(base_url=await url_of(process), trust_env=False) as http:
            refused = await http.get("/tools")
            signature = Webhook(SECRET).sign("req_1", signed_at := datetime.now(UTC), "")
            time = str(int(signed_at.timestamp()))
            headers = {"webhook-id": "req_1", "webhook-timestamp": time, "webhook-signature": signature}
            allowed = await http.get("/tools", headers=headers)
        status, errors = await end(process)
    assert refused.status_code == 401
    assert refused.json()["detail"] == "the request is not signed as it has to be: Missing required headers"
    assert allowed.status_code == 200
    assert status == 0
    assert SECRET.removeprefix("whsec_") not in errors


@pytest.mark.parametrize("secret", ["swordfish", "whsec_", "whsec_====", "whsec_swordfish!"])
async def test_a_bad_secret_is_one_clear_line_that_does_not_show_it(secret: str) -> None:
    async with asyncio.timeout(3 * BOUND_S):
        process = await start("--port", "0", secret=secret)
        _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.decode() == "example port: EXAMPLE_PORT_SECRET must be whsec_ and base64\n"


async def test_an_open_port_on_all_addresses_is_warned_of() -> None:
    async with asyncio.timeout(3 * BOUND_S):
        process = await start("--port", "0", "--host", "0.0.0.0")
        assert (await url_of(process)).startswith("http://0.0.0.0:")
        _, errors = await end(process)
    assert "warning: without TOOL_PORT_TOKEN or EXAMPLE_PORT_SECRET" in errors


def test_a_taken_port_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            main(["--port", str(number)])
    assert ended.value.code == 1
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith(f"example port: can't listen on 127.0.0.1:{number}: ")
    assert written.err.count("\n") == 1


@pytest.mark.parametrize("number", ["65536", "-1", "eighty"])
def test_what_is_no_port_number_is_refused(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([f"--port={number}"])
    assert ended.value.code == 2
    assert "argument --port: " in capsys.readouterr().err


def test_the_example_port_imports_nothing_of_the_service_but_the_wire_format() -> None:
    """Writers of ports read and copy it, so it has to work without the rest."""
    for path in Path(service.example_port.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    imported = [name.name for name in names]
                case ast.ImportFrom(module=module, level=level):
                    assert level == 0
                    imported = [module or ""]
                case _:
                    continue
            ours = [name for name in imported if name.split(".")[0] == "service"]
            assert all(name.startswith(("service.example_port", "service.port_wire")) for name in ours), path.name
