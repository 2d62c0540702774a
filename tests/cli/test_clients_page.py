"""`docs/howto/call-it-from-code.md` is executed: each snippet is run against a service, and the connection is cut."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from service.core.callers import Scope
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import service_over
from tests.cli.breaking_proxy import breaking_proxy
from tests.cli.client_snippets import HOWTO, LANGUAGES, SNIPPETS, run, running
from tests.cli.hesitant_llama import ANSWER, FIRST, LOOKS, HesitantLlama
from tests.fakes.house import House
from tests.fakes.tool_port import TablePort, spec
from tests.web.fake_keys import FakeKeys
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H1", "H6")]

PAGE = (HOWTO / "call-it-from-code.md").read_text(encoding="utf-8")
QUESTION = 'Why is the "sky" blue?'

by_language = pytest.mark.parametrize("language", LANGUAGES)


def asked(language: str, content: str = QUESTION) -> str:
    """Give the word that names the message: for curl it is the body."""
    return json.dumps({"content": content}) if language == "curl" else content


def test_the_page_shows_the_files_that_are_run() -> None:
    blocks = re.findall(r"^`([a-z.]+)`:\n\n```(?:sh|python|javascript)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

    assert dict(blocks) == {
        file.name: file.read_text(encoding="utf-8") for file in SNIPPETS.iterdir() if file.is_file()
    }
    assert len(blocks) == 17


def test_each_snippet_is_short() -> None:
    lines = {name: len((SNIPPETS / name).read_text(encoding="utf-8").splitlines()) for name in names()}

    assert {name: count for name, count in lines.items() if count > 33} == {}


def names() -> list[str]:
    return [file.name for file in SNIPPETS.iterdir() if file.is_file()]


@by_language
async def test_the_answer_is_printed_as_it_streams(language: str, tmp_path: Path) -> None:
    llama = HesitantLlama()
    async with (
        served_house(House(llama, TablePort(spec("look")))) as service,
        running(language, "stream", tmp_path, str(service.http.base_url), asked(language)) as snippet,
    ):
        before = await snippet.until('"text":"Air' if language == "curl" else FIRST)
        llama.goes_on.set()
        after = await snippet.end()

    if language == "curl":
        assert events_in(before + after)[-1]["content"] == ANSWER
    else:
        assert before + after == f"{LOOKS}{ANSWER}\n[answered]\n"


@by_language
async def test_a_turn_is_followed_over_connections_that_are_cut_and_nothing_is_lost_or_told_twice(
    language: str, tmp_path: Path
) -> None:
    llama = HesitantLlama()
    house = House(llama, TablePort(spec("look")))
    # In the middle of a record, then in the middle of a signal; the third time behind what was printed.
    cuts = (b'"type":"user"', b'"type":"partial"')
    async with served_house(house) as service, breaking_proxy(service.port, *cuts) as proxy:
        word = QUESTION if language == "python" else await started(house, proxy.url)
        async with running(language, "resume", tmp_path, proxy.url, word) as snippet:
            before = await snippet.until(f'{FIRST}"' if language == "curl" else FIRST)
            assert proxy.marks == []
            proxy.cut()
            llama.goes_on.set()
            after = await snippet.end()
        (session,) = (await service.http.get("/sessions")).json()["items"]
        log: list[JsonObject] = (await service.http.get(f"/sessions/{session['id']}/records")).json()["items"]

    if language == "curl":
        told = [json.loads(line) for line in (before + after).splitlines()]
        assert [event for event in told if "seq" in event] == log[1:]
    else:
        assert before + after == LOOKS + ANSWER


async def started(house: House, url: str) -> str:
    """Start a turn and give its address."""
    session = await house.session()
    return f"{url}/sessions/{session}/turns/{await house.start(session)}"


@by_language
async def test_the_whole_turn_is_waited_for(language: str, tmp_path: Path) -> None:
    async with StrictLlama(say(ANSWER)) as llama, service_over(tmp_path, llama) as service:
        said = await run(language, "wait", tmp_path, str(service.served.http.base_url), asked(language))

    if language == "curl":
        turn = json.loads(said)
        said = f"{turn['outcome']} {turn['content']}\n"
    assert said == f"answered {ANSWER}\n"


@pytest.mark.rules("A2")
@pytest.mark.parametrize("approved", [True, False], ids=["approved", "denied"])
@by_language
async def test_a_person_is_asked_before_a_call_runs(language: str, approved: bool, tmp_path: Path) -> None:
    script = [ask_for(Call(name="close_road", arguments='{"road": "E6, \\"digest\\":\\"no\\""}')), say("So it is.")]
    port = FakePort(open_spec("close_road", needs_approval=True, title="Close a road"))
    async with StrictLlama(*script) as llama, port, service_over(tmp_path, llama, port) as service:
        address = str(service.served.http.base_url)
        said = await run(language, "approve", tmp_path, address, asked(language), typed="y\n" if approved else "n\n")

    assert "Close a road" in said
    assert "So it is." in said.splitlines()[-1]
    assert [call.tool for call in port.calls] == (["close_road"] if approved else [])


@pytest.mark.rules("H3", "K3")
@by_language
async def test_a_message_whose_answer_was_lost_is_sent_again_and_runs_once(language: str, tmp_path: Path) -> None:
    keys = FakeKeys()
    headers = keys.add("ann", Scope.TURNS)
    async with (
        StrictLlama(say(ANSWER)) as llama,
        service_over(tmp_path, llama, keys=keys) as service,
        # The head of the turn's answer: by then the turn has run.
        breaking_proxy(service.served.port, b"content-location: ") as proxy,
    ):
        words = [asked(language)]
        if language == "curl":
            made = await service.served.http.post("/sessions", headers=headers)
            words.insert(0, made.headers["location"])
        said = await run(language, "keyed", tmp_path, proxy.url, *words, TURNKEEPER_API_KEY="key-of-ann")
        sessions = (await service.served.http.get("/sessions", headers=headers)).json()["items"]
        turns = (await service.served.http.get(f"/sessions/{sessions[0]['id']}/turns", headers=headers)).json()["items"]

    assert proxy.marks == []
    assert (len(sessions), len(turns), len(llama.asked)) == (1, 1, 1)
    assert ANSWER in said


def events_in(stream: str) -> list[JsonObject]:
    return [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: ")]
