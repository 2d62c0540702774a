"""One reading from its upload to its end: follows it, comes back to it, cancels it on Ctrl-C."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from service.cli.interrupts import interruptions
from service.cli.read_board import ReadingBoard
from service.cli.read_events import reading_news
from service.cli.read_evidence import EvidenceTrail
from service.cli.read_progress import Progress
from service.cli.refusals import refusal_in_words
from service.cli.unanswered import LeftEarly
from service.cli.words import seconds_in_words, size_in_words
from service.core.reading.records import RunEnd
from service.core.visible import visible
from service.ports.running_service import (
    ComingBack,
    RunningService,
    SentFile,
    ServiceLost,
    ServiceTrouble,
    Told,
    ToldEvent,
    WorkBegun,
)

PATH = "/readings"
_SHOWN = 2000


@dataclass(slots=True)
class ReadingRun:
    """What is known so far; `location` is the reading's path, None until the service has begun it."""

    service: RunningService
    board: ReadingBoard
    progress: Progress
    trail: EvidenceTrail = field(default_factory=EvidenceTrail)
    location: str | None = None
    wants_cancel: bool = False
    is_sent: bool = False
    is_away: bool = False
    _following: asyncio.Task[object] | None = None
    _cancelling: asyncio.Task[None] | None = None
    _farewell: str | None = None

    async def follow(self, fields: Mapping[str, str], files: Sequence[SentFile]) -> None:
        """Send it and follow it to its end.

        Raises:
            ServiceTrouble: it was not begun, or it is lost.
            OSError: a file could not be read.
            LeftEarly: Ctrl-C before the end; one that is in time cancels the reading, which then ends.
        """
        self._following = asyncio.current_task()
        told = self.service.send_files(PATH, fields, files, ends_with=RunEnd.type, sent=self._sent)
        try:
            with interruptions(self._interrupted):
                async with aclosing(told):
                    async for item in told:
                        self._take(item)
                        self.progress.changed()
        except ServiceLost as lost:
            raise ServiceLost(f"{lost}, and the service did not come back; {self._left()}") from lost
        except asyncio.CancelledError as error:
            raise LeftEarly(self._farewell or self._left()) from error
        finally:
            if self._cancelling is not None:
                self._cancelling.cancel()

    def _sent(self, done: int, total: int) -> None:
        # When it has to be sent once more, the first time may have been enough.
        self.is_sent = self.is_sent or done >= total
        sent = f"{size_in_words(done)} of {size_in_words(total)}"
        self.board.doing = "the service takes it in" if self.is_sent else f"sends {sent}"
        self.progress.changed()

    def _take(self, item: Told) -> None:
        match item:
            case WorkBegun(location=location):
                self.location = location
                if self.wants_cancel:
                    self._cancel(location)
            case ComingBack():
                self.is_away = True
                wait = seconds_in_words(item.wait_s)
                self.progress.say(
                    f"turnkeeper: {visible(item.reason, _SHOWN)}; coming back in {wait} "
                    f"(attempt {item.attempt} of {item.attempts}){self._meanwhile()}"
                )
            case ToldEvent():
                if self.is_away:
                    self.is_away = False
                    self.progress.say("turnkeeper: back at the service")
                if (news := reading_news(item)) is not None:
                    self.board.take(news)
                    self.trail.take(news)

    def _meanwhile(self) -> str:
        return "" if self.location is None else "; the reading is not lost"

    def _interrupted(self) -> None:
        if self.location is None and not self.is_sent:
            self._leave("left before all was sent; nothing was begun")
            return
        self.wants_cancel = True
        self.progress.say("turnkeeper: cancelling the reading; Ctrl-C again leaves at once")
        if self.location is not None:
            self._cancel(self.location)

    def _cancel(self, location: str) -> None:
        self._cancelling = asyncio.create_task(self._ask_to_cancel(location), name="cancel the reading")

    async def _ask_to_cancel(self, location: str) -> None:
        try:
            await self.service.post(f"{location}/cancel")
        except ServiceTrouble as trouble:
            self._leave(f"it could not be cancelled: {refusal_in_words(trouble)}; {self._left()}")

    def _leave(self, farewell: str) -> None:
        self._farewell = farewell
        assert self._following is not None  # nothing is left before it is followed
        self._following.cancel()

    def _left(self) -> str:
        if self.location is None:
            return "left before the service had answered; it may read without you"
        return f"left before its end; GET {visible(self.location, _SHOWN)} shows what becomes of it"
