"""One message out of a pipe, and its answer."""

from __future__ import annotations

from service.cli.chat_fold import TurnFold
from service.cli.chat_screen import ChatScreen
from service.cli.chat_session import ChatSession
from service.cli.chat_shown import Note, Reasoning
from service.cli.chat_turn import TurnRun
from service.core.visible import visible

_SHOWN = 200


async def say_once(
    chat: ChatSession, screen: ChatScreen, content: str, *, session: str | None, reasoning: Reasoning
) -> int:
    """Say this in the session, or in a new one; give the exit code.

    Raises:
        ServiceTrouble: one of its kinds.
        LeftEarly: the second Ctrl-C.
    """
    if session is not None:
        await chat.open(session)
    turn = await chat.say(content)
    assert chat.id is not None  # the turn has a session
    screen.show(Note(text=f"session {visible(chat.id, _SHOWN)}"))
    fold = TurnFold(reasoning=reasoning, context_tokens=chat.context_tokens)
    run = TurnRun(service=chat.service, screen=screen, prompt=None, fold=fold, session=chat.id, turn=turn)
    await run.follow()
    return run.exit_code
