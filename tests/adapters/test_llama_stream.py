"""One completion over a real socket: recorded bytes, broken connections, silence (L4, L5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from service.adapters.llama import LlamaTimes
from service.core.completion_events import Begun, Completion, CompletionDelta, ContentText, ReasoningText
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure
from tests.adapters.llama_streamed import ASK, all_of, failure_of, shown
from tests.adapters.scripted_llama import (
    BOUND_S,
    LAST_CHUNK,
    STREAM_HEAD,
    Step,
    answer,
    http_chunk,
    llama_at,
    moment,
    never,
    scripted,
    slots_answer,
    working_slot,
)
from tests.core.completion_outcome import DONE, END, STOP, content, reasoning
from tests.recordings.exchanges import names, recorded
from tests.recordings.expected import EXPECTED, PROGRESS, SILENT, Broken

pytestmark = pytest.mark.anyio

RAW = {name: recorded(name).raw for name in names()}


@pytest.mark.rules("L4", "L5")
@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_exchange_comes_to_what_is_expected(name: str) -> None:
    expected = EXPECTED[name]
    async with scripted([RAW[name]]) as server, llama_at(server.url) as llama:
        found = await shown(llama)

    assert (found.content, found.reasoning) == (expected.content, expected.reasoning)
    others = tuple(d for d in found.deltas if not isinstance(d, Begun | ContentText | ReasoningText))
    assert others == PROGRESS.get(name, ())
    if isinstance(expected, Broken):
        assert found.failure is not None
        assert found.failure.kind is expected.kind
        assert expected.says in found.failure.message
    else:
        assert found.completion == expected


@pytest.mark.rules("L4")
async def test_bytes_may_come_one_by_one() -> None:
    raw = RAW["plain"]
    async with scripted([raw[i : i + 1] for i in range(len(raw))]) as server, llama_at(server.url) as llama:
        assert (await all_of(llama))[-1] == EXPECTED["plain"]


@pytest.mark.rules("L4")
async def test_deltas_that_come_together_leave_together_and_at_once() -> None:
    go_on = asyncio.Event()
    together = content("a", "b") + reasoning("c")
    script = [STREAM_HEAD, http_chunk(together), go_on.wait, http_chunk(content("d")), never]
    async with scripted(script) as server, llama_at(server.url) as llama, aclosing(llama.stream(ASK)) as stream:
        async with asyncio.timeout(BOUND_S):
            assert await anext(stream) == (ContentText(text="a"), ContentText(text="b"), ReasoningText(text="c"))
            go_on.set()
            assert await anext(stream) == (ContentText(text="d"),)


@pytest.mark.rules("L4", "L7")
async def test_a_connection_that_is_lost_before_the_head_is_a_closed_stream() -> None:
    failure = await failure_of([])

    assert failure.kind is ErrorKind.STREAM_CLOSED
    assert "closed the connection before it had answered" in failure.message


LOST = "the connection to llama-server was lost before the answer was complete"


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ([STREAM_HEAD, http_chunk(content("Hi"))], LOST),
        ([STREAM_HEAD, http_chunk(content("Hi")) + b"ff\r\ndata: {"], LOST),
        ([STREAM_HEAD, http_chunk(content("Hi")) + LAST_CHUNK], "llama-server ended the stream"),
        ([STREAM_HEAD, http_chunk(content("Hi") + DONE) + LAST_CHUNK], "llama-server ended the stream"),
    ],
    ids=["no last chunk", "cut in a chunk", "clean end", "end mark"],
)
async def test_a_stream_that_ends_before_its_finish_reason_is_closed(script: list[Step], says: str) -> None:
    async with scripted(script) as server, llama_at(server.url) as llama:
        found = await shown(llama)

    assert found.content == "Hi"
    assert found.failure is not None
    assert found.failure.kind is ErrorKind.STREAM_CLOSED
    assert says in found.failure.message


@pytest.mark.rules("L4")
async def test_bytes_that_are_no_http_any_more_end_a_stream() -> None:
    go_on = asyncio.Event()
    script = [STREAM_HEAD, http_chunk(content("Hi")), go_on.wait, b"no size\r\n", never]
    async with scripted(script) as server, llama_at(server.url) as llama, aclosing(llama.stream(ASK)) as stream:
        await anext(stream)
        go_on.set()
        with pytest.raises(ModelFailure) as caught:
            await anext(stream)

    assert caught.value.kind is ErrorKind.STREAM_CLOSED


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    "last",
    [[], [b"ff\r\ndata: {"], [never], [http_chunk(b":\n\n" * 99), never]],
    ids=["lost", "cut", "silent", "pings"],
)
async def test_what_breaks_behind_the_finish_reason_does_not_matter(last: list[Step]) -> None:
    script = [STREAM_HEAD, http_chunk(content("Hi")), http_chunk(STOP), *last]
    async with scripted(script) as server, llama_at(server.url, LlamaTimes(liveness_ms=50, poll_ms=50)) as llama:
        done = (await all_of(llama))[-1]

    assert isinstance(done, Completion)
    assert (done.content, done.finish_reason, done.estimated) == ("Hi", "stop", True)
    assert done.usage.completion_tokens == 1
    assert done.usage.prompt_tokens > 10  # about the body's length, by four


@pytest.mark.rules("L4")
async def test_silence_is_a_stalled_stream_and_what_came_before_it_was_shown() -> None:
    times = LlamaTimes(liveness_ms=100, poll_ms=50)
    async with scripted([RAW[SILENT], never]) as server, llama_at(server.url, times) as llama:
        found = await shown(llama)
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()

    assert len(found.content) == 1708
    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == (
        ErrorKind.STALLED,
        "llama-server was silent for 0.1 s (liveness_ms)",
    )


@pytest.mark.rules("L4")
async def test_pings_are_life_but_no_progress() -> None:
    pings: list[Step] = [step for _ in range(100) for step in (moment, http_chunk(b":\n\n"))]
    times = LlamaTimes(liveness_ms=2_000, progress_ms=200, poll_ms=50)
    script = [STREAM_HEAD, http_chunk(content("Hi")), *pings, never]
    async with scripted(script) as server, llama_at(server.url, times) as llama:
        found = await shown(llama)

    assert found.content == "Hi"
    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == (
        ErrorKind.STALLED,
        "llama-server sent no token and no progress for 0.2 s (progress_ms)",
    )


@pytest.mark.rules("L4")
async def test_a_slow_reader_of_ours_does_not_make_the_server_look_stuck() -> None:
    script = [STREAM_HEAD, http_chunk(content("Hi")), http_chunk(END) + LAST_CHUNK]
    times = LlamaTimes(liveness_ms=50, progress_ms=50, poll_ms=50)
    async with scripted(script) as server, llama_at(server.url, times) as llama, aclosing(llama.stream(ASK)) as stream:
        async with asyncio.timeout(BOUND_S):
            first = await anext(stream)
            for _ in range(5):
                await moment()
            rest = [item async for item in stream]

    assert first == (ContentText(text="Hi"),)
    assert isinstance(rest[-1], Completion)


@pytest.mark.rules("L4")
async def test_a_line_over_one_mebibyte_is_a_protocol_failure() -> None:
    script = [STREAM_HEAD, *[http_chunk(b"x" * 65_536)] * 17, never]

    assert (await failure_of(script)).kind is ErrorKind.PROTOCOL


@pytest.mark.rules("L4")
@pytest.mark.parametrize("content_type", [b"", b"Content-Type: text/plain\r\n"], ids=["none", "another"])
async def test_a_stream_without_its_content_type_is_read_all_the_same(content_type: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + content_type + b"Transfer-Encoding: chunked\r\n\r\n"
    async with scripted([head, http_chunk(content("Hi") + END)]) as server, llama_at(server.url) as llama:
        found = await shown(llama)

    assert found.content == "Hi"
    assert found.completion is not None


@pytest.mark.rules("L4")
async def test_an_empty_answer_without_a_content_type_is_a_closed_stream() -> None:
    failure = await failure_of([b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])

    assert failure.kind is ErrorKind.STREAM_CLOSED


@pytest.mark.rules("L5")
async def test_the_budget_of_the_request_tells_when_the_beginning_of_the_answer_is_held() -> None:
    leak = reasoning(*["t"] * 16) + content("rest", "</think>", "Yes.") + END
    request = CompletionRequest(messages=ASK.messages, max_tokens=64, thinking_budget_tokens=16)
    script = [STREAM_HEAD, http_chunk(leak)]
    async with scripted(script, script) as server, llama_at(server.url) as llama:
        held, open_ended = await shown(llama, request), await shown(llama)

    assert (held.content, held.reasoning) == ("Yes.", "t" * 16 + "rest")
    assert (open_ended.content, open_ended.reasoning) == ("rest</think>Yes.", "t" * 16)


@pytest.mark.rules("L4")
async def test_text_held_back_is_shown_when_the_stream_breaks() -> None:
    script = [STREAM_HEAD, http_chunk(content("<thi"))]
    async with scripted(script) as server, llama_at(server.url) as llama:
        found = await shown(llama)

    assert found.content == "<thi"
    assert found.failure is not None


SILENCE = LlamaTimes(liveness_ms=200, poll_ms=50)


@pytest.mark.rules("L4", "L8")
async def test_a_silent_stream_is_waited_for_as_long_as_a_prompt_moves_on() -> None:
    go_on = asyncio.Event()

    async def let_go() -> None:
        go_on.set()

    on: list[list[Step]] = [[slots_answer(working_slot(0, 3, processed))] for processed in (128, 256)]
    slots = [*on, [let_go, *on[1]]]
    script = [STREAM_HEAD, http_chunk(b":\n\n"), go_on.wait, http_chunk(content("Hi") + END) + LAST_CHUNK]
    async with scripted(script, slots=slots) as server, llama_at(server.url, SILENCE) as llama:
        found = await shown(llama)

    assert found.content == "Hi"
    assert found.completion is not None
    assert len(server.looks) == 3
    assert "watch a silent stream" not in {task.get_name() for task in asyncio.all_tasks()}


@pytest.mark.rules("L4", "L8")
@pytest.mark.parametrize(
    "slots",
    [
        [[slots_answer(working_slot(0, 3, 128))]],
        [[slots_answer(working_slot(0, 3, 128))], [slots_answer(working_slot(0, 4, 256))]],
        [[answer(404, b"")]],
        [[never]],
    ],
    ids=["no move", "another task", "refused", "silent"],
)
async def test_a_silent_stream_whose_prompt_does_not_move_on_is_stalled(slots: list[list[Step]]) -> None:
    script = [STREAM_HEAD, never]
    async with scripted(script, slots=slots) as server, llama_at(server.url, SILENCE) as llama:
        found = await shown(llama)
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()

    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == (
        ErrorKind.STALLED,
        "llama-server was silent for 0.2 s (liveness_ms)",
    )
    assert len(server.looks) == 2
    assert not {"watch a silent stream", "look at the slots"} & {task.get_name() for task in asyncio.all_tasks()}


@pytest.mark.rules("L4", "L8")
async def test_a_silent_stream_that_is_cancelled_takes_its_watch_along() -> None:
    script = [STREAM_HEAD, never]
    async with scripted(script, slots=[[never]]) as server, llama_at(server.url, SILENCE) as llama:
        task = asyncio.create_task(all_of(llama))
        async with asyncio.timeout(BOUND_S):
            await server.looked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not {"watch a silent stream", "look at the slots"} & {t.get_name() for t in asyncio.all_tasks()}
            await server.left.wait()
            await server.look_left.wait()


@pytest.mark.rules("L4")
@pytest.mark.parametrize("pushed", [False, True])
async def test_deltas_are_the_same_yielded_and_taken(pushed: bool) -> None:
    async with scripted([RAW["plain"]]) as server, llama_at(server.url) as llama:
        if pushed:
            found = await shown(llama)
            text, completion = found.content, found.completion
        else:
            *batches, completion = await all_of(llama)
            deltas = [delta for batch in batches if not isinstance(batch, Completion) for delta in batch]
            text = "".join(delta.text for delta in deltas if isinstance(delta, ContentText))

    assert completion == EXPECTED["plain"]
    assert text == EXPECTED["plain"].content


@pytest.mark.rules("L4", "L6")
async def test_whoever_takes_deltas_may_await_something_before_more_is_taken() -> None:
    go_on = asyncio.Event()
    script = [
        STREAM_HEAD,
        http_chunk(content("one")),
        go_on.wait,
        http_chunk(content(" two")),
        http_chunk(STOP),
        LAST_CHUNK,
    ]
    told: list[str] = []

    def take(deltas: Sequence[CompletionDelta]) -> bool:
        told.extend(delta.text for delta in deltas if isinstance(delta, ContentText))
        return told != ["one"]

    async with scripted(script) as server, llama_at(server.url) as llama, aclosing(llama.stream(ASK, take)) as stream:
        first = await anext(stream)
        told.append("awaited")
        go_on.set()
        *_, completion = [item async for item in stream]

    assert (first, told) == ((), ["one", "awaited", " two"])
    assert isinstance(completion, Completion)
    assert completion.content == "one two"


@pytest.mark.rules("L4", "L6")
async def test_whoever_takes_deltas_may_break_the_stream_off() -> None:
    said = ModelFailure(ErrorKind.THINKING_CAP, "on and on")

    def take(deltas: Sequence[CompletionDelta]) -> bool:
        raise said

    script = [STREAM_HEAD, http_chunk(reasoning("Hm")), never]
    async with scripted(script) as server, llama_at(server.url) as llama:
        with pytest.raises(ModelFailure) as caught:
            assert [item async for item in llama.stream(ASK, take)]
        async with asyncio.timeout(BOUND_S):
            await server.left.wait()

    assert caught.value is said
