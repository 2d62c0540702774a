"""A page of somebody else, open in the same browser, can't read from the service nor make it do anything (K1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

from service.core.json_types import JsonObject
from tests.browser.chromium import ABSENT, NEEDED, PROGRAM
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.rules("K1")]

SECRET = "The key lies under the mat"
REBOUND = "rebound.example"

# Each gives what it could read, or throws. `target` is the service, as the page would name it.
READS = {
    "fetch": "fetch(target + '/sessions').then((answer) => answer.text())",
    "fetch without cors": "fetch(target + '/sessions', {mode: 'no-cors'}).then((answer) => answer.text())",
    "fetch with credentials": "fetch(target + '/approvals', {credentials: 'include'}).then((answer) => answer.text())",
    "event source": """new Promise((resolve, reject) => {
        const source = new EventSource(target + '/events?after=0');
        source.addEventListener('user', (event) => resolve(event.data));
        source.onerror = () => { source.close(); reject(new Error('refused')); };
    })""",
    "script": """new Promise((resolve, reject) => {
        const script = document.createElement('script');
        script.src = target + '/sessions';
        script.onload = () => resolve('it ran');
        script.onerror = () => reject(new Error('refused'));
        document.body.append(script);
    })""",
    "frame": """new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.src = target + '/';
        frame.onload = () => { try { resolve(frame.contentDocument.body.innerText); } catch { resolve(''); } };
        document.body.append(frame);
    })""",
}

# Each sends a decision, or a message, in a way that a page may send without asking the server first.
WRITES = {
    "json": "fetch(target + path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body})",
    "text": "fetch(target + path, {method: 'POST', mode: 'no-cors', body})",
    "beacon": "Promise.resolve(navigator.sendBeacon(target + path, body))",
    "json beacon": "Promise.resolve(navigator.sendBeacon(target + path, new Blob([body], {type: 'application/json'})))",
    "form": """new Promise((resolve) => {
        const form = document.createElement('form'), field = document.createElement('input');
        form.method = 'POST'; form.action = target + path; form.enctype = 'text/plain';
        const sink = document.createElement('iframe');
        sink.name = form.target = 'sink' + document.querySelectorAll('iframe').length;
        // Together with the sign of equality that such a form puts in between, this is the JSON.
        field.name = body.slice(0, -1) + ', "x": "'; field.value = '"}';
        form.append(field); document.body.append(sink, form);
        sink.onload = () => resolve();
        form.submit();
    })""",
}


async def _hostile_site(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    page = b"<!doctype html><title>Cats</title><body>Cats</body>"
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))
    await writer.drain()
    writer.close()


@asynccontextmanager
async def hostile_page() -> AsyncGenerator[Page]:
    """Open a page of another origin, in a browser in which another name leads to this machine as well."""
    if PROGRAM is None:
        (pytest.fail if NEEDED else pytest.skip)(ABSENT)
    server = await asyncio.start_server(_hostile_site, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, async_playwright() as playwright:
        rules = f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"
        chromium = await playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox", rules])
        try:
            page = await chromium.new_page()
            await page.goto(f"http://127.0.0.1:{port}/")
            yield page
        finally:
            await chromium.close()


async def attempt(page: Page, script: str, **given: str) -> str:
    """Run a script in the page; give what it got, or that it was refused."""
    names = ", ".join(given)
    wrapped = (
        f"async ({{{names}}}) => {{ try {{ return String(await ({script})); }} catch (e) {{ return 'refused'; }} }}"
    )
    return await page.evaluate(wrapped, given)


async def waiting_call(service: WholeService) -> tuple[str, JsonObject]:
    """Have a call wait for a person; give the turn's path and the call."""
    session = await service.session(title=SECRET)
    turn = await service.turn(session)
    assert turn["state"] == "awaiting_approval"
    return f"{session}/turns/{turn['id']}", turn["pending"][0]


@asynccontextmanager
async def under_attack(folder: Path) -> AsyncGenerator[tuple[WholeService, FakePort]]:
    llama, port = StrictLlama(ask_for(Call(name="send")), say("Sent.")), FakePort(spec("send", needs_approval=True))
    async with llama, port, service_over(folder, llama, port) as service:
        yield service, port


async def test_a_page_of_another_origin_reads_nothing(tmp_path: Path) -> None:
    async with under_attack(tmp_path) as (service, _), hostile_page() as page:
        await waiting_call(service)
        for host in ("127.0.0.1", "localhost", REBOUND):
            target = f"http://{host}:{service.served.port}"
            for way, script in READS.items():
                got = await attempt(page, script, target=target)
                assert SECRET not in got, (host, way)
                assert got in ("refused", ""), (host, way, got)


async def test_a_page_of_another_origin_approves_nothing_and_starts_nothing(tmp_path: Path) -> None:
    async with under_attack(tmp_path) as (service, port), hostile_page() as page:
        turn, call = await waiting_call(service)
        session = turn.partition("/turns/")[0]
        decision = {"decisions": [{"call": call["call"], "approved": True, "digest": call["digest"]}]}
        before = await service.records(session)
        for host in ("127.0.0.1", REBOUND):
            for script in WRITES.values():
                for path, body in ((f"{turn}/decisions", decision), (f"{session}/turns", {"content": "Send it"})):
                    target = f"http://{host}:{service.served.port}"
                    await attempt(page, script, target=target, path=path, body=json.dumps(body))

        assert await service.records(session) == before
        assert port.calls == []
        # It can be decided, so the attempts above failed for what they were and not for what they said.
        decided = await service.served.http.post(
            f"{turn}/decisions", json=decision, headers={"Accept": "application/json"}
        )
        assert decided.json()["outcome"] == "answered"
        assert len(port.calls) == 1


async def test_a_page_whose_name_was_rebound_to_this_machine_is_a_stranger_too(tmp_path: Path) -> None:
    async with under_attack(tmp_path) as (service, _), hostile_page() as page:
        await waiting_call(service)
        # Of the same origin as the service, as the browser sees it.
        answer = await page.goto(f"http://{REBOUND}:{service.served.port}/sessions")

        assert answer is not None
        assert answer.status == 421
        assert SECRET not in await page.content()
        assert await attempt(page, "fetch('/sessions').then((answer) => answer.status)") in ("421", "refused")
