"""What a person types in `turnkeeper chat`: lines, answers to questions, and texts in an editor. Blocks no loop."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Protocol, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.output import Output, create_output


class Interrupted(Exception):
    """Ctrl-C while something was asked."""


class NoEditor(Exception):
    """The editor could not be used; the message says why."""


class ChatPrompt(Protocol):
    """Whoever asks a person."""

    async def line(self, text: str = "") -> str:
        """Ask for the next message; `text` stands there to begin with.

        Raises:
            EOFError: there is none.
            Interrupted: Ctrl-C.
        """
        ...

    async def answer(self, question: str) -> str:
        """Ask a question; what was typed before it stood there does not count.

        Raises:
            EOFError: there is no answer.
            Interrupted: Ctrl-C.
        """
        ...

    async def edited(self, text: str) -> str:
        """Have a text edited.

        Raises:
            NoEditor: it could not be.
        """
        ...


class TerminalPrompt:
    """Asks on the terminal of standard input; what is typed shows on `shown_on`."""

    def __init__(self, shown_on: TextIO) -> None:
        self._input = create_input()
        output = create_output(stdout=shown_on)
        self._lines = _session(self._input, output)
        # Apart, so that answers are not in the history of messages.
        self._answers = _session(self._input, output)

    async def line(self, text: str = "") -> str:
        """Ask for the next message."""
        return await self._lines.prompt_async("> ", default=text, handle_sigint=False)

    async def answer(self, question: str) -> str:
        """Ask a question."""
        self._forget_what_was_typed()
        return await self._answers.prompt_async(question, handle_sigint=False)

    async def edited(self, text: str) -> str:
        """Have a text edited by the person's editor."""
        return await edited_in_editor(text)

    def _forget_what_was_typed(self) -> None:
        # A "y" that was typed before the question stood there answers another question.
        clear_typeahead(self._input)
        if sys.platform != "win32":
            import termios

            termios.tcflush(self._input.fileno(), termios.TCIFLUSH)


def _session(typed: Input, output: Output) -> PromptSession[str]:
    # In a task of the loop, KeyboardInterrupt would end the loop.
    return PromptSession(input=typed, output=output, interrupt_exception=Interrupted)


async def edited_in_editor(text: str) -> str:
    """Have a text edited by $VISUAL or $EDITOR.

    Raises:
        NoEditor: there is none, or it failed.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if sys.platform == "win32" else "vi")
    with tempfile.TemporaryDirectory(prefix="turnkeeper-") as folder:
        path = Path(folder) / "arguments.json"
        path.write_text(f"{text}\n", encoding="utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*shlex.split(command), str(path))
        except (OSError, ValueError) as error:
            raise NoEditor(f"the editor {command!r} can't be started") from error
        if await process.wait() != 0:
            raise NoEditor(f"the editor {command!r} failed; nothing was changed")
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise NoEditor("what the editor left is no text in UTF-8") from error
