"""Characters that end lines, mean nothing to a terminal or stand for no text pass unchanged (case 15)."""

from __future__ import annotations

import json

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, WholeService, side_by_side
from tests.web.serving import Frame

pytestmark = [pytest.mark.anyio, pytest.mark.cases(15), pytest.mark.rules("H6", "L5", "P2", "X1")]

CHARACTERS = {
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "next line": "\u0085",
    "carriage return": "\r",
    "carriage return and line feed": "\r\n",
    "two line feeds": "\n\n",
    "vertical tab, form feed, separators": "\v\f\x1c\x1d\x1e\x1f",
    "nul": "\0",
    "delete and escape": "\x7f\x1b[31m",
    "byte order mark": "\ufeff",
    "emoji of seven code points": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "flag and skin tone": "\U0001f1eb\U0001f1f7\U0001f44b\U0001f3fd",
    "right to left marks": "\u202e\u05d0\u200f\u2066\u2069",
    "combining marks": "e\u0301\u0323",
    "no character": "\ufffe\U0010ffff",
    "what a stream begins its lines with": "data: [DONE]\n\nevent: x\nid: 9\n: ",
    "quotes and backslashes": "\"\\\\u2028'\\",
}


def joined(frames: list[Frame], event: str, step: int) -> str:
    parts = [frame.data for frame in frames if frame.field("event") == event]
    return "".join(part["text"] for part in parts if part["step"] == step)


async def a_turn_with(service: WholeService, llama: StrictLlama, port: FakePort, odd: str, escaped: bool) -> None:
    """Let the model, the tool and the user say it, at the beginning, within and at the end."""
    text = f"{odd}a{odd}{escaped}{odd}"
    arguments = json.dumps({"city": text}, ensure_ascii=escaped)
    pieces = ("Said: ", *text, " so.")
    called = ask_for(Call(name="clock", arguments=arguments), text=pieces, thought=pieces)
    llama.play(text, called, say(pieces, thought=pieces), say("Yes."))
    session = await service.session()
    frames = await service.frames(session, text)
    await service.turn(session)

    said = "".join(pieces)
    call = {"type": "function", "function": {"name": "clock", "arguments": arguments}, "id": "call-1"}
    thought: JsonObject = {"role": "assistant", "content": said, "reasoning_content": said}
    expected: list[JsonObject] = [
        {"role": "user", "content": text},
        {**thought, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call-1", "name": "clock", "content": text},
        thought,
    ]
    assert {"city": text} in [call.arguments for call in port.calls]
    assert llama.asked_in(text)[-1].messages[1:-1] == expected
    assert (await service.messages(session))[1:-2] == expected
    assert [joined(frames, kind, step) for kind in ("reasoning", "content") for step in (1, 2)] == [said] * 4
    shown = [frame.data for frame in frames if frame.field("id")]
    assert shown == [record for record in await service.records(session) if record["seq"] in range(2, 2 + len(shown))]
    assert [record["content"] for record in shown if record["type"] == "tool_result"] == [text]


async def test_each_is_equal_from_end_to_end(start: Start, subtests: pytest.Subtests) -> None:
    llama, port = StrictLlama(), FakePort(answers={"clock": lambda call: call.arguments["city"]})
    service = await start(llama, port)
    runs = {
        f"{name}, {'escaped' if escaped else 'as it is'}": a_turn_with(service, llama, port, odd, escaped)
        for name, odd in CHARACTERS.items()
        for escaped in (False, True)
    }
    for name, run in (await side_by_side(runs)).items():
        with subtests.test(name):
            run.result()


async def test_no_line_of_a_stream_or_an_export_is_split_by_one(start: Start) -> None:
    odd = "".join(CHARACTERS.values())
    llama = StrictLlama(ask_for(Call(name="clock"), text=odd, thought=odd), say(odd))
    service = await start(llama, FakePort(answers={"clock": lambda _: odd}))
    session = await service.session()
    frames = await service.frames(session)
    export = (await service.served.http.get(f"{session}/records", headers={"Accept": "application/x-ndjson"})).text

    assert [line for frame in frames for line in frame.lines if len(line.splitlines()) > 1] == []
    assert len(export.splitlines()) == len(await service.records(session))
