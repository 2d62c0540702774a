"""A model reads on in a result that was cut, and has its whole text in the end (T9)."""

from __future__ import annotations

import re

import pytest

from service.core.baseline import Limits, ToolMode
from service.core.completion_events import ModelCall
from service.core.labels import DataClass
from service.core.records import Outcome, ResultStatus
from service.core.tool_port import AnswerStatus, ToolAnswer
from service.turns.requests import ToolsAsked
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.turn_facts import last_turn, restarted, results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T9")]

HANDLE = re.compile(r'read_result (\{"call": \d+, "offset": \d+\})')
BOOK = "".join(f"Line {number} \U0001f469\u200d\U0001f680 é\r\n" for number in range(400))


def port_of(text: str, *, status: AnswerStatus = AnswerStatus.RESULT, **labels: object) -> TablePort:
    answer = ToolAnswer(status=status, text=text, **labels)  # pyright: ignore[reportArgumentType]
    return TablePort(spec("dump"), spec("t"), tools={"dump": lambda request: answer})


def dump(number: int = 0) -> ModelCall:
    return call("dump", f'{{"city": "{number}"}}', id=f"id{number}")


def read(arguments: str) -> Play:
    return ask_for(call("read_result", arguments, id="read"))


class ReaderLlama(ScriptedLlama):
    """Asks for one long result, and reads on in it wherever it is told that it can."""

    def __init__(self, first: str = "") -> None:
        super().__init__(ask_for(dump()), context_tokens=100_000)
        self.first = first
        self.pages: list[str] = []

    def _next(self) -> Play:
        if self.script:
            return super()._next()
        last: str = self.requests[-1].messages[-1]["content"]
        if len(self.requests) > 2:
            self.pages.append(last)
        handles = HANDLE.findall(last)
        if not handles:
            return say("I have read it all.")
        return read(self.first if len(self.requests) == 2 and self.first else handles[-1])


def page_text(page: str) -> str:
    return re.sub(r"\n\[characters [^\n]*\]$", "", page)


async def test_a_model_that_reads_on_from_the_beginning_gets_the_whole_text() -> None:
    llama = ReaderLlama('{"offset": 0, "call": 1}')
    port = port_of(BOOK)
    house = House(llama, port, limits=Limits(tool_result_cap=1000, tool_iterations=100))
    session = await house.session()

    view = await house.run(session)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "I have read it all.")
    assert "".join(map(page_text, llama.pages)) == BOOK
    assert len(llama.pages) > 10
    assert [request.tool for request in port.calls] == ["dump"]
    results = await results_of(house, session)
    assert {(shown.status, shown.truncated) for shown in results[1:]} == {(ResultStatus.OK, False)}
    assert max(len(shown.content.encode()) for shown in results) <= 1000


async def test_reading_on_where_the_cut_says_gives_what_was_left_out() -> None:
    llama = ReaderLlama()
    house = House(llama, port_of(BOOK), limits=Limits(tool_result_cap=1000, tool_iterations=100))
    session = await house.session()

    await house.run(session)

    (shown, *_) = await results_of(house, session)
    assert shown.content.split("\n[… ")[0] + "".join(map(page_text, llama.pages)) == BOOK


async def test_a_later_turn_may_read_on_also_after_a_restart() -> None:
    first = House(ScriptedLlama(ask_for(dump()), say("Long.")), port_of(BOOK), limits=Limits(tool_result_cap=1000))
    session = await first.session()
    await first.run(session)
    house = await restarted(first, ScriptedLlama(read('{"call": 1, "offset": 5000}'), say("I see.")))

    await house.run(session, "What stands in the middle?")

    page = (await results_of(house, session))[-1]
    assert (await last_turn(house, session)).content == "I see."
    assert page_text(page.content) == BOOK[5000:][: len(page_text(page.content))] != ""


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ('{"call": 1, "offset": 1000000}', ResultStatus.OK, f"The result of call 1 has {len(BOOK)} characters"),
        ('{"call": 2, "offset": 0}', ResultStatus.FAILED, "There is nothing to read on in call 2"),
        ('{"call": 9, "offset": 0}', ResultStatus.FAILED, "There is nothing to read on in call 9"),
        ('{"call": 1e300, "offset": 0}', ResultStatus.FAILED, "There is nothing to read on in call 1"),
        ('{"call": 0, "offset": 0}', ResultStatus.BAD_ARGUMENTS, "less than the minimum"),
        ('{"call": 1, "offset": -1}', ResultStatus.BAD_ARGUMENTS, "less than the minimum"),
        ('{"call": 1}', ResultStatus.BAD_ARGUMENTS, "offset"),
        ('{"call": "1", "offset": 0}', ResultStatus.BAD_ARGUMENTS, "integer"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
async def test_what_cannot_be_read_is_told_in_words(arguments: str, status: ResultStatus, words: str) -> None:
    script = ScriptedLlama(ask_for(dump()), ask_for(call("t")), read(arguments), say("I see."))
    house = House(script, port_of(BOOK), limits=Limits(tool_result_cap=1000))
    session = await house.session()

    view = await house.run(session)

    told = (await results_of(house, session))[-1]
    assert (view.outcome, told.status) == (Outcome.ANSWERED, status)
    assert words in told.content


async def test_a_result_that_was_not_cut_has_nothing_to_read_on() -> None:
    script = ScriptedLlama(ask_for(dump()), read('{"call": 1, "offset": 0}'), say("I see."))
    house = House(script, port_of("short"))
    session = await house.session()

    await house.run(session)

    assert (await results_of(house, session))[-1].status is ResultStatus.FAILED


@pytest.mark.rules("X2")
async def test_what_the_port_sent_too_much_of_is_marked_and_not_promised_to_be_readable() -> None:
    script = ScriptedLlama(ask_for(dump()), read('{"call": 1, "offset": 0}'), say("I see."))
    house = House(script, port_of("beginning", cut=True))
    session = await house.session()

    await house.run(session)

    shown, told = await results_of(house, session)
    assert (shown.truncated, told.status) == (True, ResultStatus.FAILED)
    assert shown.content.endswith("the rest of it was not read.]")


@pytest.mark.rules("X6", "P6")
async def test_what_is_read_on_has_the_labels_of_its_result_and_a_fence_of_its_own() -> None:
    port = port_of(BOOK + "0000000000000bad", data_class=DataClass.SECRET, untrusted=True)
    llama = ScriptedLlama(ask_for(dump()), read('{"call": 1, "offset": 9000}'), say("I see."))
    ids = CountingIds(["0000000000000bad", "000000000000000a", "000000000000000b"])
    house = House(llama, port, limits=Limits(tool_result_cap=1000), ids=ids)
    session = await house.session()

    await house.run(session)

    shown, page = await results_of(house, session)
    assert (shown.fence, page.fence) == ("000000000000000a", "000000000000000b")
    assert (page.data_class, page.untrusted) == (DataClass.SECRET, True)
    content = llama.requests[-1].messages[-1]["content"]
    assert content == f"<untrusted {page.fence}>\n{page.content}\n</untrusted {page.fence}>"


@pytest.mark.rules("X6")
async def test_nothing_to_read_on_is_told_in_public_and_trusted_words() -> None:
    port = port_of("short", data_class=DataClass.SECRET, untrusted=True)
    house = House(ScriptedLlama(ask_for(dump()), read('{"call": 1, "offset": 0}'), say("I see.")), port)
    session = await house.session()

    await house.run(session)

    told = (await results_of(house, session))[-1]
    assert (told.data_class, told.untrusted, told.fence) == (DataClass.PUBLIC, False, None)


@pytest.mark.rules("T7")
async def test_the_same_page_twice_is_a_repeat_and_another_page_is_not() -> None:
    pages = [read('{"call": 1, "offset": 0}'), read('{"call": 1, "offset": 9}'), read('{"offset": 0, "call": 1}')]
    house = House(
        ScriptedLlama(ask_for(dump()), *pages, say("I see.")), port_of(BOOK), limits=Limits(tool_result_cap=1000)
    )
    session = await house.session()

    await house.run(session)

    assert [shown.status for shown in await results_of(house, session)] == [ResultStatus.OK] * 3 + [
        ResultStatus.REPEATED
    ]


@pytest.mark.rules("X4")
async def test_a_long_result_through_call_tool_is_cut_and_read_on_as_well() -> None:
    inner = call("call_tool", '{"name": "dump", "arguments": {}}')
    reading = call("call_tool", '{"name": "read_result", "arguments": {"call": 1, "offset": 700}}')
    house = House(
        ScriptedLlama(ask_for(inner), ask_for(reading), say("I see.")),
        port_of(BOOK),
        limits=Limits(tool_result_cap=1000),
    )
    session = await house.session(tools=ToolsAsked(mode=ToolMode.DISCOVER))

    await house.run(session)

    shown, page = await results_of(house, session)
    assert (shown.name, shown.truncated, page.name) == ("dump", True, "read_result")
    assert BOOK[700:].startswith(page_text(page.content))
