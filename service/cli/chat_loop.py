"""A chat on a terminal: messages, turns, commands, until the person leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from service.cli.chat_commands import Command, Unknown, help_lines, meaning_of
from service.cli.chat_fold import TurnFold
from service.cli.chat_history import log_lines, turns_in_brief
from service.cli.chat_joining import TurnsToShow
from service.cli.chat_prompt import ChatPrompt, Interrupted
from service.cli.chat_screen import ChatScreen
from service.cli.chat_session import ChatSession
from service.cli.chat_shown import Note, Reasoning, Tone
from service.cli.chat_turn import TurnRun
from service.cli.failure import INTERRUPTED
from service.cli.refusals import refusal_in_words
from service.core.errors import ProblemCode
from service.core.text import encodable
from service.core.visible import visible
from service.ports.running_service import RunningService, ServiceAway, ServiceRefused, ServiceTrouble

_SHOWN = 2000


@dataclass(slots=True)
class Conversation:
    """A person at a terminal, and the session that they talk in."""

    service: RunningService
    screen: ChatScreen
    prompt: ChatPrompt
    session: ChatSession
    reasoning: Reasoning
    _interruptions: int = 0

    async def go_on_in(self, session: str) -> None:
        """Open a session, show its last turns, and join the one that is not at its end.

        Raises:
            ServiceTrouble: one of its kinds.
            LeftEarly: the person has left.
        """
        for note in turns_in_brief(await self.session.open(session)):
            self.screen.show(note)
        await self._join()

    async def hold(self) -> int:
        """Take messages and commands until the person leaves; give the exit code.

        Raises:
            LeftEarly: the person has left in the middle of a turn.
        """
        self._say("Enter sends a message, /help lists commands, Ctrl-D leaves")
        while True:
            try:
                line = encodable(await self._line())
            except EOFError:
                return 0
            except Interrupted:
                if self._interruptions > 1:
                    return INTERRUPTED
                self._say("Ctrl-C again leaves, and so do Ctrl-D and /quit")
                continue
            meaning = meaning_of(line)
            if meaning is Command.QUIT:
                return 0
            await self._do(meaning)

    async def _line(self) -> str:
        self._interruptions += 1
        with self.screen.asking():
            line = await self.prompt.line()
        self._interruptions = 0
        return line

    async def _do(self, meaning: Command | Unknown | str) -> None:
        try:
            match meaning:
                case Command():
                    await self._command(meaning)
                case Unknown():
                    self._say(f"there is no /{visible(meaning.name, 50)}; /help lists what there is", Tone.ERROR)
                case "":
                    pass
                case _:
                    await self._message(meaning)
        except ServiceAway:
            self._say("no service answers there now; the message is in the history (arrow up)", Tone.ERROR)
        except ServiceRefused as refusal:
            self._say(refusal_in_words(refusal), Tone.ERROR)
            if refusal.code == ProblemCode.TURN_IN_PROGRESS:
                await self._join()
        except ServiceTrouble as trouble:
            self._say(refusal_in_words(trouble), Tone.ERROR)

    async def _command(self, command: Command) -> None:
        match command:
            case Command.HELP:
                for line in help_lines():
                    self._say(line, Tone.PLAIN)
            case Command.NEW:
                self.session.leave()
                self._say("the next message begins a new session")
            case Command.SESSION:
                await self._tell_session()
            case Command.RETRY:
                await self._retry()
            case Command.LOG:
                for note in log_lines(await self.session.records()):
                    self.screen.show(note)
            case _:
                pass

    async def _message(self, content: str) -> None:
        had_session = self.session.id
        turn = await self.session.say(content)
        if self.session.id != had_session:
            self._say(f"session {visible(self.session.id or '', _SHOWN)}")
        await self._follow(turn, says_message=False)

    async def _retry(self) -> None:
        last = self.session.last
        if last is None:
            self._say("there is no turn to ask again", Tone.ERROR)
            return
        before = self.session.id or ""
        await self.session.fork(last)
        now = visible(self.session.id or "", _SHOWN)
        self._say(f"asked again in the fork {now}, from before the last turn; {visible(before, _SHOWN)} stays as it is")
        await self._follow(await self.session.say(last.content), says_message=True)

    async def _tell_session(self) -> None:
        if self.session.id is None:
            self._say("there is none yet; the first message begins it")
            return
        found = await self.session.resource(self.session.id)
        title = f", {visible(str(found['title']), 200)}" if found.get("title") else ""
        self._say(f"{visible(self.session.id, _SHOWN)} ({visible(str(found.get('state')), 50)}{title})", Tone.PLAIN)

    async def _join(self) -> None:
        """Follow the session's turn while there is one, and those of its queue behind it."""
        turns = TurnsToShow()
        while self.session.id is not None:
            found = await self.session.resource(self.session.id)
            turns.meet(cast("str | None", found.get("running")), cast(list[str], found.get("queued") or []))
            turn = turns.next()
            if turn is None:
                return
            self._say("a turn of this session is not at its end; it is shown from its beginning")
            await self._follow(turn, says_message=True)

    async def _follow(self, turn: str, *, says_message: bool) -> None:
        assert self.session.id is not None  # a turn has a session
        fold = TurnFold(reasoning=self.reasoning, says_message=says_message, context_tokens=self.session.context_tokens)
        run = TurnRun(
            service=self.service,
            screen=self.screen,
            prompt=self.prompt,
            fold=fold,
            session=self.session.id,
            turn=turn,
        )
        await run.follow()

    def _say(self, text: str, tone: Tone = Tone.DETAIL) -> None:
        self.screen.show(Note(text=text, tone=tone, aside=True))
