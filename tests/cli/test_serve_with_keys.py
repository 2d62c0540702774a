"""K2, K3: `turnkeeper serve` with a file of keys: changes of the file count while it runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from service.cli.app import app
from tests.cases.strict_llama import StrictLlama
from tests.cli.whole_program import PATIENCE_S, running

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K2", "K3", "D2"), pytest.mark.timeout(120)]


def turnkeeper(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout.strip()


async def status(http: httpx.AsyncClient, key: str | None) -> int:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return (await http.get("/sessions", headers=headers)).status_code


async def test_keys_that_are_added_rotated_and_revoked_count_with_the_next_request(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    file = ("--file", str(path))
    ann = await asyncio.to_thread(turnkeeper, "keys", "add", "ann", *file)
    async with (
        asyncio.timeout(3 * PATIENCE_S),
        StrictLlama() as llama,
        running(tmp_path, llama.url, API_KEYS_FILE=str(path)) as program,
    ):
        assert [await status(program.http, key) for key in (None, "tk_wrong", ann)] == [401, 401, 200]

        bob = await asyncio.to_thread(turnkeeper, "keys", "add", "bob", *file)
        assert [await status(program.http, key) for key in (ann, bob)] == [200, 200]

        new = await asyncio.to_thread(turnkeeper, "keys", "add", "ann", "--rotate", *file)
        assert [await status(program.http, key) for key in (ann, new, bob)] == [401, 200, 200]

        await asyncio.to_thread(turnkeeper, "keys", "revoke", "bob", *file)
        assert [await status(program.http, key) for key in (new, bob)] == [200, 401]

        right = path.read_bytes()
        path.unlink()
        assert [await status(program.http, key) for key in (new, None)] == [401, 401]
        path.write_bytes(right)
        assert await status(program.http, new) == 200


async def test_a_stream_of_a_key_that_is_revoked_ends(tmp_path: Path) -> None:
    file = ("--file", str(tmp_path / "keys.json"))
    ann = await asyncio.to_thread(turnkeeper, "keys", "add", "ann", *file)
    async with (
        asyncio.timeout(2 * PATIENCE_S),
        StrictLlama() as llama,
        running(tmp_path, llama.url, API_KEYS_FILE=str(tmp_path / "keys.json")) as program,
        program.http.stream("GET", "/events", headers={"Authorization": f"Bearer {ann}"}) as stream,
    ):
        assert stream.status_code == 200
        await asyncio.to_thread(turnkeeper, "keys", "revoke", "ann", *file)
        # Its client seems to have left, so the stream is cut and not ended.
        with pytest.raises(httpx.RemoteProtocolError):
            async for _ in stream.aiter_raw():
                pass
