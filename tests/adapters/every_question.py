"""All that is ever asked of the tool port and of llama-server, by name, for tests of what holds for each of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

from service.adapters.llama import LlamaHttp, LlamaTimes, build_llama_client
from service.adapters.tools import RequestSigner, ToolPortHttp, build_tool_client
from service.core.completion_request import CompletionRequest
from service.core.errors import ModelFailure, ToolPortFailure
from service.core.ids import SessionId, TurnId
from service.core.tool_port import ToolRequest
from service.core.trace_context import own_context

CALL = ToolRequest(
    session=SessionId("ses_1"),
    turn=TurnId("trn_1"),
    call=1,
    tool="get_weather",
    arguments={},
    timeout_ms=30_000,
    idempotency_key="ses_1/1",
    trace=own_context("trn_1"),
)
ASK = CompletionRequest(messages=({"role": "user", "content": "Hi"},), max_tokens=16)
PATIENT = LlamaTimes(answer_ms=30_000, poll_ms=30_000)

Question = Callable[[], Awaitable[object]]


def of_the_port(port: ToolPortHttp) -> Mapping[str, Question]:
    """What the tool port is asked."""

    async def call() -> object:
        return (await port.call(CALL)).text

    return {"POST /calls": call, "GET /tools": port.list_tools}


def of_llama(llama: LlamaHttp, request: CompletionRequest = ASK) -> Mapping[str, Question]:
    """What llama-server is asked."""

    async def complete() -> object:
        async with aclosing(llama.stream(request)) as items:
            return [item async for item in items]

    return {
        "GET /health": llama.check,
        "GET /props": llama.facts,
        "GET /slots": llama.slots,
        "POST /tokenize": lambda: llama.count_text("Hi"),
        "POST /apply-template": lambda: llama.render(request),
        "POST /v1/chat/completions/input_tokens": lambda: llama.count_tokens(request),
        "POST /v1/chat/completions/control": lambda: llama.end_thought("chatcmpl-1"),
        "POST /v1/chat/completions": complete,
    }


async def told_by(question: Question) -> tuple[str, Exception | None]:
    """Ask, and give what is told of the answer; with the failure, if it ended in one."""
    try:
        return f"answered {await question()}", None
    except (ModelFailure, ToolPortFailure) as failure:
        return str(failure), failure


Asked = dict[str, tuple[str, Exception | None]]


async def ask_everything(
    url: str, *, token: str | None = None, api_key: str | None = None, signer: RequestSigner | None = None
) -> Asked:
    """Ask both at one address, everything, one after the other."""
    async with build_tool_client(url, token) as tools, build_llama_client(url, api_key) as client:
        llama = LlamaHttp(client, PATIENT)
        questions = {**of_the_port(ToolPortHttp(tools, signer=signer)), **of_llama(llama)}
        return {name: await told_by(question) for name, question in questions.items()}
