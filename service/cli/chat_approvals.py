"""Asks a person about the calls that wait, one after the other, and sends what was decided (A1, A2).

Above: who follows the turn, and tells of calls that wait and of those that wait no more. A question ends by itself when
the call was decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

from service.cli.chat_prompt import ChatPrompt, Interrupted, NoEditor
from service.cli.chat_question import is_itself, is_json_object, question_lines
from service.cli.chat_screen import ChatScreen
from service.cli.chat_shown import Doing, Note, Tone
from service.cli.refusals import is_about_scopes, refusal_in_words
from service.core.json_types import JsonObject
from service.core.records import PendingCall
from service.core.text import encodable
from service.core.visible import visible
from service.ports.running_service import RunningService, ServiceRefused, ServiceTrouble

CallPlace = tuple[str, str, int]
"""The session, the turn and the number of a call."""

_ASK = "approve? [y]es, [n]o, [e]dit the arguments: "
_WHY = "why not? The model is told; Enter for no reason: "
_SHOWN = 2000


@dataclass(slots=True)
class ApprovalDesk:
    """`interrupted` is called at Ctrl-C in a question, `left` when no answer can come any more."""

    service: RunningService
    screen: ChatScreen
    prompt: ChatPrompt
    interrupted: Callable[[], None]
    left: Callable[[], None]
    _waiting: dict[CallPlace, PendingCall] = field(default_factory=dict[CallPlace, PendingCall])
    _more: asyncio.Event = field(default_factory=asyncio.Event)
    _question: asyncio.Task[JsonObject | None] | None = None
    _asked: CallPlace | None = None
    _closed: bool = False

    def requested(self, call: PendingCall) -> None:
        """A call waits."""
        self._waiting[(call.session, call.turn, call.call)] = call
        self._more.set()

    def over(self, place: CallPlace) -> None:
        """A call waits no more."""
        self._waiting.pop(place, None)
        if place == self._asked:
            self._withdraw()

    def close(self) -> None:
        """Ask nothing more."""
        self._closed = True
        self._waiting.clear()
        self._withdraw()

    def _withdraw(self) -> None:
        if self._question is not None:
            # It stands before what the question has kept back.
            self._say("the question is void: the call does not wait any more", Tone.WARNING)
            self._question.cancel()

    async def ask_all(self) -> None:
        """Ask about each call that waits, until this is closed or cancelled."""
        while not self._closed:
            await self._more.wait()
            self._more.clear()
            while self._waiting and not self._closed:
                place, call = next(iter(self._waiting.items()))
                await self._ask(place, call)
                self._waiting.pop(place, None)

    async def _ask(self, place: CallPlace, call: PendingCall) -> None:
        if not is_itself(call):
            self._say("a call waits whose digest is not its own, so it is not asked about", Tone.ERROR)
            return
        if not await self._still_waits(place, call):
            return
        arguments = call.arguments
        while place in self._waiting and not self._closed:
            decision = await self._asked_about(place, call, arguments)
            if decision is None or await self._sent(call, decision):
                return
            arguments = decision.get("arguments", call.arguments)

    async def _asked_about(self, place: CallPlace, call: PendingCall, arguments: str) -> JsonObject | None:
        question = asyncio.create_task(self._decision(call, arguments), name="ask about a call")
        self._asked, self._question = place, question
        try:
            await asyncio.wait([question])
        finally:
            self._asked = self._question = None
            if not question.done():
                question.cancel()
                await asyncio.wait([question])
        return None if question.cancelled() else question.result()

    async def _still_waits(self, place: CallPlace, call: PendingCall) -> bool:
        # A stream that is read from its beginning tells of calls that were decided long ago.
        try:
            turn = await self.service.get(f"/sessions/{call.session}/turns/{call.turn}")
        except ServiceTrouble:
            return True
        pending = cast(list[JsonObject], turn.get("pending") or [])
        return place in self._waiting and any(waiting.get("call") == call.call for waiting in pending)

    async def _decision(self, call: PendingCall, arguments: str) -> JsonObject | None:
        """Give what the person decides; None when there is no decision."""
        try:
            self._lay_out(call, arguments)
            while True:
                typed = (await self._answer(_ASK)).strip().lower()
                if typed in ("e", "edit"):
                    arguments = await self._edited(arguments)
                    self._lay_out(call, arguments)
                elif typed in ("y", "yes"):
                    changed = {} if arguments == call.arguments else {"arguments": arguments}
                    return {"call": call.call, "approved": True, "digest": call.digest, **changed}
                elif typed in ("n", "no"):
                    reason = encodable((await self._answer(_WHY)).strip())
                    given = {"reason": reason} if reason else {}
                    return {"call": call.call, "approved": False, "digest": call.digest, **given}
        except Interrupted:
            self._closed = True
            self.interrupted()
        except EOFError:
            self._closed = True
            self.left()
        return None

    async def _answer(self, question: str) -> str:
        with self.screen.asking():
            return await self.prompt.answer(question)

    async def _edited(self, arguments: str) -> str:
        try:
            with self.screen.asking():
                edited = await self.prompt.edited(arguments)
        except NoEditor as fault:
            self._say(visible(str(fault), _SHOWN), Tone.ERROR)
            return arguments
        if not is_json_object(edited):
            self._say('that is no JSON object, like {"city": "Paris"}; the arguments are as before', Tone.ERROR)
            return arguments
        return edited

    async def _sent(self, call: PendingCall, decision: JsonObject) -> bool:
        """Send a decision; False when it may be made in another way."""
        try:
            path = f"/sessions/{call.session}/turns/{call.turn}/decisions"
            await self.service.send(path, {"decisions": [decision]}, later=True)
        except ServiceTrouble as trouble:
            self._say(refusal_in_words(trouble), Tone.ERROR)
            if isinstance(trouble, ServiceRefused) and trouble.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                return False
            if is_about_scopes(trouble):
                self._say("the call waits until a key with that scope decides", Tone.WARNING)
            elif isinstance(trouble, ServiceRefused) and trouble.status == HTTPStatus.FORBIDDEN:
                self._say("turnkeeper sign signs decisions; the call waits until one comes", Tone.WARNING)
            self.screen.show(Doing(text="waits for a decision; Ctrl-C cancels the turn"))
        return True

    def _lay_out(self, call: PendingCall, arguments: str) -> None:
        first, *others = question_lines(call, arguments)
        self._say(first, Tone.WARNING)
        for line in others:
            self._say(line, Tone.PLAIN)

    def _say(self, text: str, tone: Tone) -> None:
        self.screen.show(Note(text=text, tone=tone))
