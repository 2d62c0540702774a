"""The fake model server and tool port of `tests/cases`, which tell each moment of an exchange."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable

from service.core.json_types import JsonObject, JsonValue
from service.core.summarising import INSTRUCTIONS
from tests.cases.fake_port import Answer, FakePort, PortCall, open_spec
from tests.cases.http_fake import Exchange
from tests.cases.replies import Reply, refuse
from tests.cases.strict_llama import Asked, StrictLlama
from tests.crashes.kill_points import Moments
from tests.crashes.watched_reader import (
    AskedSection,
    Reads,
    asked_section,
    is_of_reading,
    prompt_words,
    stream_said,
    words_in,
)
from tests.fakes.strict_prompt import MalformedPrompt

LONG_TEXT = "".join(f"Line {number} of a very long result.\n" for number in range(2_000))

CHARGE = open_spec("charge")
LOOK = open_spec("look", idempotent=True)
READ_LONG = open_spec("read_long", idempotent=True)
PAY = open_spec("pay", needs_approval=True)
RENEW = open_spec("renew", needs_approval=True, idempotent=True)
ORDER = open_spec("order")
BOOK = open_spec("book", idempotent=True)
IDEMPOTENT = frozenset({"look", "read_long", "renew", "book"})
ASKED_BY_PORT = frozenset({"order", "book"})
"""Tools of which the port itself says that a person must be asked first (A1b)."""

CONTEXT_TOKENS = 16_384
COMPACT_AT = "0.52"
"""Two long results fit, and no more."""

LONG_FILLER = "".join(f"This is sentence {number} of a long letter. " for number in range(300))
"""A quarter of the fake model server's context, about."""

DENIED = "too much"
CHANGED = "to be changed"
"""Notes in the arguments of calls that people deny, or approve with other arguments."""

EXPERT = "You are the expert."
"""The system prompt of the agent that others hand over to."""

_MARK = re.compile(r"plan-(?:\d+|stopped)")
_PIECE_S = 0.002
# So what is gone on with after a start is there before the answer that tells the slots.
_PROPS_S = 0.05


def is_expert(asked: Asked) -> bool:
    """Whether an agent that was handed over to asks."""
    return asked.messages[0]["content"].startswith(EXPERT)


def is_summary(asked: Asked) -> bool:
    """Whether a summary is asked for."""
    return asked.messages[0]["content"].startswith(INSTRUCTIONS.partition("{")[0])


def mark_of(asked: Asked) -> str:
    """Give the mark of the conversation that a request belongs to."""
    found = _MARK.search("\n".join(message["content"] for message in asked.messages[:2]))
    return found[0] if found else ""


class WatchedExchange(Exchange):
    """An exchange that tells its moments under a name."""

    def __init__(self, whole: Exchange, moments: Moments, name: str) -> None:
        super().__init__(whole.method, whole.path, whole.headers, whole.body, whole._writer)
        self._moments = moments
        self._name = name

    async def answer(self, value: JsonValue | bytes, status: int = 200) -> None:
        await self._moments.passed(f"{self._name}: asked")
        await super().answer(value, status)
        await self._moments.passed(f"{self._name}: answered")

    async def begin_stream(self) -> None:
        await self._moments.passed(f"{self._name}: asked")
        await super().begin_stream()
        await self._moments.passed(f"{self._name}: head")

    async def chunk(self, data: bytes) -> None:
        # Slowly enough for the service to show each piece by itself.
        await asyncio.sleep(_PIECE_S)
        await super().chunk(data)
        await self._moments.passed(f"{self._name}: {'piece' if data else 'end'}")


class WatchedLlama(StrictLlama):
    """A strict model server that tells when it is asked, and each piece that it has sent.

    A conversation or a reading and all that belongs to it is known by its mark; `asked_by` and `sections_of` hold the
    requests, by mark. `most_readers` is how many requests of a reading were answered at the same time.
    """

    def __init__(self, moments: Moments, slots: int = 8) -> None:
        super().__init__(self._reply, context_tokens=CONTEXT_TOKENS, slots=slots)
        self._moments = moments
        self._replies: dict[str, Callable[[Asked], Reply]] = {}
        self._reads: dict[str, Reads] = {}
        self._readers = Counter[str]()
        self.most_readers = Counter[str]()
        self.asked_by: defaultdict[str, list[Asked]] = defaultdict(list)
        self.sections_of: defaultdict[str, list[AskedSection]] = defaultdict(list)

    def converse(self, mark: str, reply: Callable[[Asked], Reply]) -> None:
        """Reply so in the conversation of this mark."""
        self._replies[mark] = reply

    def read(self, mark: str, reads: Reads) -> None:
        """Read so in the reading of this mark."""
        self._reads[mark] = reads

    def _reply(self, asked: Asked) -> Reply:
        mark = mark_of(asked)
        if mark not in self._replies:
            self.refusals.append(f"a request of no conversation: {asked.messages[0]['content'][:200]}")
            return refuse(400, self.refusals[-1])
        self.asked_by[mark].append(asked)
        return self._replies[mark](asked)

    async def _answer(self, exchange: Exchange) -> None:
        body: JsonObject = json.loads(exchange.body) if exchange.body else {}
        match exchange.path.removeprefix("/v1"):
            case "/props":
                await asyncio.sleep(_PROPS_S)
                await super()._answer(exchange)
            case "/tokenize":
                tokens = list(range(words_in(body["content"])))
                await WatchedExchange(exchange, self._moments, "tokens").answer({"tokens": tokens})
            case "/chat/completions/input_tokens":
                exchange = WatchedExchange(exchange, self._moments, "count")
                if not is_of_reading(body):
                    return await super()._answer(exchange)
                await exchange.answer({"input_tokens": prompt_words(body), "object": "response.input_tokens"})
            case "/chat/completions" if is_of_reading(body):
                await self._read(exchange, body)
            case "/chat/completions":
                await super()._answer(WatchedExchange(exchange, self._moments, _who_asks(exchange)))
            case _:
                await super()._answer(exchange)

    async def _read(self, exchange: Exchange, body: JsonObject) -> None:
        mark = mark_of(Asked(exchange.body, body))
        try:
            asked = asked_section(body)
            reads = self._reads[mark]
        except (LookupError, ValueError, MalformedPrompt) as fault:
            self.refusals.append(f"a request of a reading: {fault!r}")
            return await exchange.answer({"error": {"code": 400, "message": str(fault), "type": "refused"}}, 400)
        self.sections_of[mark].append(asked)
        watched = WatchedExchange(exchange, self._moments, "answer" if asked.is_answer else "reader")
        async with self._free:
            self.in_flight += 1
            self._readers[mark] += 1
            self.most_readers[mark] = max(self.most_readers[mark], self._readers[mark])
            try:
                await stream_said(watched, body, reads(asked))
            finally:
                self.in_flight -= 1
                self._readers[mark] -= 1


def _who_asks(exchange: Exchange) -> str:
    asked = Asked(exchange.body, json.loads(exchange.body))
    return "summary" if is_summary(asked) else "expert" if is_expert(asked) else "model"


class WatchedPort(FakePort):
    """A tool port that tells when a call came and went; some tools may run twice, some need approval."""

    def __init__(self, moments: Moments) -> None:
        answers: dict[str, Answer] = {"read_long": lambda _: LONG_TEXT, "order": _if_approved, "book": _if_approved}
        super().__init__(CHARGE, LOOK, READ_LONG, PAY, RENEW, ORDER, BOOK, answers=answers)
        self._moments = moments

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "POST":
            body: JsonObject = json.loads(exchange.body)
            approved = " approved" if "approval" in body and body["tool"] in ASKED_BY_PORT else ""
            exchange = WatchedExchange(exchange, self._moments, f"port {body['tool']}{approved}")
        await super()._answer(exchange)


def _if_approved(call: PortCall) -> JsonObject | str:
    if "approval" in call.body:
        return f"{call.tool} says ok"
    return {"status": "pending_approval", "reason": "It costs a lot."}
