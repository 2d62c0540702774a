"""K3, D2: a chat on a terminal with a service that wants keys: with one that may, one that may not, and none."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.core.callers import Scope
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over
from tests.web.fake_keys import FakeKeys

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

from tests.cli.chat_terminal import CTRL_D, chat_on_terminal

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3", "D2"), pytest.mark.timeout(120)]

VARIABLE = "TURNKEEPER_API_KEY"
PAY = ask_for(Call(name="pay", arguments='{"to": "Ann"}'))


def key_of(headers: dict[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


@asynccontextmanager
async def service_with(store: Path, keys: FakeKeys, *script: Reply) -> AsyncGenerator[str]:
    """Give the address of a service with a tool that asks."""
    port = FakePort(open_spec("pay", needs_approval=True))
    async with StrictLlama(*script) as llama, port, service_over(store, llama, port, keys) as service:
        yield str(service.served.http.base_url)


async def test_a_key_that_may_do_both_takes_turns_and_decides(tmp_path: Path) -> None:
    keys = FakeKeys()
    key = key_of(keys.add("ann", Scope.TURNS, Scope.APPROVE))
    async with (
        service_with(tmp_path, keys, PAY, say("Paid.")) as url,
        chat_on_terminal(url, **{VARIABLE: key}) as terminal,
    ):
        await terminal.say("Pay Ann")
        await terminal.until("approve? ")
        await terminal.say("y")
        await terminal.until("Paid.")
        await terminal.prompted()
        terminal.type(CTRL_D)
        code = await terminal.end()

    assert code == 0
    assert key not in terminal.raw


async def test_a_key_that_may_not_decide_is_told_so_and_the_call_waits(tmp_path: Path) -> None:
    keys = FakeKeys()
    key = key_of(keys.add("ann", Scope.TURNS))
    async with service_with(tmp_path, keys, PAY) as url, chat_on_terminal(url, **{VARIABLE: key}) as terminal:
        await terminal.say("Pay Ann")
        await terminal.until("approve? ")
        await terminal.say("y")
        await terminal.until(
            "this needs an API key with the scope approve; this one has turns",
            "the call waits until a key with that scope decides",
        )

    assert "turnkeeper sign" not in terminal.text


async def test_a_key_that_is_revoked_in_a_chat_is_told_with_what_to_set(tmp_path: Path) -> None:
    keys = FakeKeys()
    key = key_of(keys.add("ann", Scope.TURNS))
    async with service_with(tmp_path, keys) as url, chat_on_terminal(url, **{VARIABLE: key}) as terminal:
        await terminal.prompted()
        keys.revoke("ann")
        terminal.type("Hello\r")
        await terminal.until("no API key, or a wrong one: set TURNKEEPER_API_KEY, or say --api-key-file (")
        await terminal.prompted()
        terminal.type(CTRL_D)
        code = await terminal.end()

    assert code == 0
    assert key not in terminal.raw


async def test_without_a_key_the_chat_does_not_begin(tmp_path: Path) -> None:
    async with service_with(tmp_path, FakeKeys()) as url, chat_on_terminal(url) as terminal:
        await terminal.until("turnkeeper: no API key, or a wrong one: set TURNKEEPER_API_KEY, or say --api-key-file (")
        code = await terminal.end()

    assert code == 1
