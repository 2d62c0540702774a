"""One turn as `turnkeeper chat` follows it: shows it, has calls decided on, cancels it on Ctrl-C, comes back to it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass
from urllib.parse import quote

from service.cli.chat_approvals import ApprovalDesk
from service.cli.chat_fold import TurnFold
from service.cli.chat_news import TurnNews, turn_news
from service.cli.chat_prompt import ChatPrompt
from service.cli.chat_question import question_lines
from service.cli.chat_screen import ChatScreen
from service.cli.chat_shown import Doing, Note, Tone
from service.cli.failure import FAILED, INTERRUPTED
from service.cli.interrupts import interruptions
from service.cli.refusals import refusal_in_words
from service.cli.unanswered import LeftEarly
from service.cli.words import seconds_in_words
from service.core.records import ApprovalDecided, ApprovalRequested, Outcome, ToolResult, TurnFinished
from service.core.visible import visible
from service.ports.running_service import ComingBack, RunningService, ServiceLost, ServiceTrouble, Told, ToldEvent

ANSWERED = 0
AT_A_LIMIT = 3
WAITS_FOR_APPROVAL = 4
CANCELLED = 5

_EXIT_CODES = {
    Outcome.ANSWERED: ANSWERED,
    Outcome.TURN_LIMIT: AT_A_LIMIT,
    Outcome.SESSION_FULL: AT_A_LIMIT,
    Outcome.FAILED: FAILED,
    Outcome.CANCELLED: CANCELLED,
}
_SHOWN = 2000


def path_of(session: str, turn: str | None = None) -> str:
    """Give the path of a session, or of a turn in it."""
    path = f"/sessions/{quote(session, safe='')}"
    return path if turn is None else f"{path}/turns/{quote(turn, safe='')}"


@dataclass(slots=True)
class TurnRun:
    """A turn that was begun; without a `prompt` nobody can decide on calls, and it is left when one waits."""

    service: RunningService
    screen: ChatScreen
    prompt: ChatPrompt | None
    fold: TurnFold
    session: str
    turn: str
    wants_cancel: bool = False
    waits: bool = False
    _is_away: bool = False
    _desk: ApprovalDesk | None = None
    _following: asyncio.Task[object] | None = None
    _cancelling: asyncio.Task[None] | None = None
    _farewell: str | None = None

    @property
    def exit_code(self) -> int:
        """What a command ends with that ran this turn alone."""
        if self.waits:
            return WAITS_FOR_APPROVAL
        if self.fold.end is None:
            return FAILED
        outcome = self.fold.end.outcome
        return INTERRUPTED if outcome is Outcome.CANCELLED and self.wants_cancel else _EXIT_CODES[outcome]

    async def follow(self) -> None:
        """Show it to its end.

        Raises:
            ServiceTrouble: it is lost.
            LeftEarly: the second Ctrl-C, or the end of what is typed.
        """
        self._following = asyncio.current_task()
        asking = self._open_desk()
        try:
            with interruptions(self._interrupted):
                await self._take_all()
        except ServiceLost as lost:
            raise ServiceLost(f"{lost}, and the service did not come back; {self._left()}") from lost
        except asyncio.CancelledError as error:
            raise LeftEarly(self._farewell or self._left()) from error
        finally:
            for task in (asking, self._cancelling):
                if task is not None:
                    task.cancel()
                    # The terminal is as it was before the question when that has ended.
                    with suppress(asyncio.CancelledError):
                        await task
            self.screen.show(Doing(text=""))

    def _open_desk(self) -> asyncio.Task[None] | None:
        if self.prompt is None:
            return None
        self._desk = ApprovalDesk(
            service=self.service,
            screen=self.screen,
            prompt=self.prompt,
            interrupted=self._interrupted,
            left=lambda: self._leave(self._left()),
        )
        return asyncio.create_task(self._desk.ask_all(), name="ask about calls")

    async def _take_all(self) -> None:
        told = self.service.follow(path_of(self.session, self.turn), ends_with=TurnFinished.type)
        async with aclosing(told):
            async for item in told:
                self._take(item)
                if self.waits:
                    return

    def _take(self, item: Told) -> None:
        match item:
            case ComingBack():
                self._come_back(item)
            case ToldEvent():
                if self._is_away:
                    self._is_away = False
                    self.screen.show(Note(text="back at the service", tone=Tone.WARNING))
                if (news := turn_news(item)) is not None:
                    self._take_news(news)
            case _:
                pass

    def _come_back(self, item: ComingBack) -> None:
        reason, wait = visible(item.reason, _SHOWN), seconds_in_words(item.wait_s)
        if not self._is_away:
            self.screen.show(Note(text=f"{reason}; reconnecting, the turn is not lost", tone=Tone.WARNING))
        self._is_away = True
        attempt = f"attempt {item.attempt} of {item.attempts}"
        self.screen.show(Doing(text=f"reconnecting in {wait} ({attempt}): {reason}"))

    def _take_news(self, news: TurnNews) -> None:
        what, is_own = news.what, news.turn in ("", self.turn)
        match what:
            case ApprovalRequested():
                self._approval(what)
            case ApprovalDecided() | ToolResult():
                if self._desk is not None:
                    self._desk.over((news.session, news.turn, what.call))
            case TurnFinished():
                if self._desk is not None and is_own:
                    self._desk.close()
            case _:
                pass
        if is_own or isinstance(what, ApprovalDecided):
            for shown in self.fold.take(news):
                self.screen.show(shown)

    def _approval(self, asked: ApprovalRequested) -> None:
        if self._desk is not None:
            for call in asked.calls:
                self._desk.requested(call)
            return
        self.waits = True
        for call in asked.calls:
            for line in question_lines(call, call.arguments):
                self.screen.show(Note(text=line, tone=Tone.WARNING))
        session = visible(self.session, _SHOWN)
        self.screen.show(Note(text=f"decide with: turnkeeper chat --session {session}", tone=Tone.WARNING))

    def _interrupted(self) -> None:
        if self.wants_cancel:
            self._leave(self._left())
            return
        self.wants_cancel = True
        self.screen.show(Note(text="cancelling the turn; Ctrl-C again leaves at once", tone=Tone.WARNING))
        self._cancelling = asyncio.create_task(self._ask_to_cancel(), name="cancel the turn")

    async def _ask_to_cancel(self) -> None:
        try:
            await self.service.post(f"{path_of(self.session, self.turn)}/cancel")
        except ServiceTrouble as trouble:
            self._leave(f"it could not be cancelled: {refusal_in_words(trouble)}; {self._left()}")

    def _leave(self, farewell: str) -> None:
        self._farewell = farewell
        assert self._following is not None  # nothing is left before it is followed
        self._following.cancel()

    def _left(self) -> str:
        session = visible(self.session, _SHOWN)
        return f"the turn is not lost: turnkeeper chat --session {session} comes back to it"
