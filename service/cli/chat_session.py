"""The session that a chat goes on in: made with its first message, opened, or forked for another try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from service.cli.chat_history import READ, AskedTurn, last_turn
from service.cli.chat_turn import path_of
from service.core.json_types import JsonObject
from service.ports.running_service import RunningService, ServiceTrouble


@dataclass(slots=True)
class ChatSession:
    """`wanted` is what a new session is asked for; `id` is None until there is one, `last` until it has a turn."""

    service: RunningService
    wanted: JsonObject
    id: str | None = None
    last: AskedTurn | None = None
    context_tokens: int | None = None

    async def open(self, session: str) -> list[JsonObject]:
        """Go on in a session that exists; give its last records.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        self._take(await self.resource(session))
        records = await self.records()
        self.last = last_turn(records)
        return records

    async def resource(self, session: str) -> JsonObject:
        """Fetch a session.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        return await self.service.get(path_of(session))

    async def records(self) -> list[JsonObject]:
        """Fetch the last records.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        if self.id is None:
            return []
        last_seq = (await self.resource(self.id)).get("last_seq")
        after = max(0, last_seq - READ) if type(last_seq) is int else 0
        page = await self.service.get(f"{path_of(self.id)}/records?after={after}&limit={READ}")
        items: object = page.get("items")
        return cast(list[JsonObject], items) if isinstance(items, list) else []

    async def say(self, content: str) -> str:
        """Begin a turn with this message, in a new session where there is none; give the turn's id.

        Raises:
            ServiceTrouble: one of its kinds.
        """
        if self.id is None:
            self._take(await self.service.send("/sessions", self.wanted))
        assert self.id is not None  # it has been made
        turn = _text_of(await self.service.send(f"{path_of(self.id)}/turns", {"content": content}, later=True), "id")
        self.last = AskedTurn(turn=turn, content=content)
        return turn

    async def fork(self, before: AskedTurn) -> None:
        """Go on in a new session that has what came before this turn (H10).

        Raises:
            ServiceTrouble: one of its kinds.
        """
        asked = {"fork": {"session": self.id, "before": before.turn}}
        self._take(await self.service.send("/sessions", asked))

    def leave(self) -> None:
        """Go on in a new session, made with the next message."""
        self.id = self.last = None

    def _take(self, session: JsonObject) -> None:
        self.id = _text_of(session, "id")
        context: object = session.get("context")
        size: object = cast(JsonObject, context).get("size_tokens") if isinstance(context, dict) else None
        self.context_tokens = size if type(size) is int else None


def _text_of(resource: JsonObject, name: str) -> str:
    value: object = resource.get(name)
    if not isinstance(value, str):
        raise ServiceTrouble("what answers there is no Turnkeeper")
    return value
