"""The fake model server and tool port as programs that can be killed and started again at the same address."""

from __future__ import annotations

import asyncio
import random
import zlib
from collections import Counter, defaultdict
from typing import Self

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, PortCall
from tests.cases.growth import only_grows
from tests.cases.http_fake import Exchange, Handler, HttpFake
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import Asked, StrictLlama
from tests.crashes.scripts import batches_in, question_in
from tests.crashes.watched_fakes import CHARGE, LONG_TEXT, LOOK, READ_LONG

_PIECE_S = 0.003
_LONGEST_CALL_S = 0.3
TOOLS = ("charge", "look", "read_long")


class RestartableHttp(HttpFake):
    """A server that can be killed: connections break, and nobody listens until it is revived."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self._port = 0

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._port = int(self.url.rpartition(":")[2])
        return self

    async def kill(self) -> None:
        """Break all connections off and stop listening."""
        self._server.close()
        for handling in set(self._handling):
            handling.cancel()
        await asyncio.gather(*self._connections)

    async def revive(self) -> None:
        """Listen again."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=512)

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)


class _SlowExchange(Exchange):
    def __init__(self, whole: Exchange) -> None:
        super().__init__(whole.method, whole.path, whole.headers, whole.body, whole._writer)

    async def chunk(self, data: bytes) -> None:
        await asyncio.sleep(_PIECE_S)
        await super().chunk(data)


class SoakLlama(StrictLlama):
    """Does what the last message says: calls the tools that it names, then answers; now and then it fails.

    `faults` says where a prompt did not begin with the one before it in the same session.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(self._script, slots=16)
        self._http = self.program = RestartableHttp(self._answer)
        self._chance = random.Random(seed)
        self._last: dict[str, Asked] = {}
        self.count = 0
        self.faults: list[str] = []

    def forget(self, conversation: str) -> None:
        """Drop what is known of a session that is over."""
        self._last.pop(conversation, None)
        self._cache.pop(conversation, None)

    async def _answer(self, exchange: Exchange) -> None:
        await super()._answer(_SlowExchange(exchange))

    def _script(self, asked: Asked) -> Reply:
        self.count += 1
        self._watch_growth(asked)
        # Only the number of requests is of use later.
        self.asked[-1] = Asked(b"", {})
        chance = self._chance.random()
        if chance < 0.01:
            return say("This will not", finish=None, usage=False, done=False)
        if chance < 0.02:
            return say("", thought="Nothing comes to my mind.")
        wanted = [word for word in question_in(asked).split() if word in TOOLS]
        done = batches_in(asked)
        if done >= len(wanted):
            return say(f"After {len(asked.messages)} messages, that is all there is to be said.", thought="Let me see.")
        number = zlib.crc32(f"{question_in(asked)}{done}".encode())
        names = [wanted[done], *(["look"] if number % 3 == 0 and wanted[done] != "look" else [])]
        calls = [Call(name=name, arguments=f'{{"number": {number}}}', id=f"call-{name}") for name in names]
        return ask_for(*calls, text="I look it up.")

    def _watch_growth(self, asked: Asked) -> None:
        conversation = asked.conversation
        before = self._last.get(conversation)
        if before is not None and not only_grows([before, asked]):
            self.faults.append(f"{conversation}: a prompt does not begin with the one before")
        self._last[conversation] = asked
        # Enough for the next prompt, which begins with the last one and its answer.
        del self._cache.setdefault(conversation, [])[:-2]


class SoakPort(FakePort):
    """Answers after a while."""

    def __init__(self, seed: int) -> None:
        super().__init__(CHARGE, LOOK, READ_LONG, answers={"read_long": lambda _: LONG_TEXT})
        self._http = self.program = RestartableHttp(self._answer)
        self._chance = random.Random(seed)
        self.sent: defaultdict[str, list[PortCall]] = defaultdict(list)
        self.count = Counter[str]()

    async def _answer(self, exchange: Exchange) -> None:
        await super()._answer(_LateExchange(exchange, self._chance.random() * _LONGEST_CALL_S, self))

    def keep_calls(self) -> None:
        """Put the calls that have come with their sessions."""
        while self.calls:
            call = self.calls.pop()
            session: str = call.body["session"]
            self.sent[session].append(call)
            self.count[call.tool] += 1


class _LateExchange(Exchange):
    def __init__(self, whole: Exchange, delay_s: float, port: SoakPort) -> None:
        super().__init__(whole.method, whole.path, whole.headers, whole.body, whole._writer)
        self._delay_s = delay_s
        self._port = port

    async def answer(self, value: JsonObject | list[JsonObject] | bytes, status: int = 200) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._port.keep_calls()
        if self.method == "POST":
            await asyncio.sleep(self._delay_s)
        await super().answer(value, status)
