"""What a line that is typed in `turnkeeper chat` means: a message, or a command."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Command(StrEnum):
    """What can be said beside messages."""

    HELP = "help"
    QUIT = "quit"
    NEW = "new"
    SESSION = "session"
    RETRY = "retry"
    LOG = "log"


HELP = {
    Command.HELP: "list these commands",
    Command.QUIT: "leave; so does Ctrl-D",
    Command.NEW: "go on in a new session",
    Command.SESSION: "show which session this is, for --session",
    Command.RETRY: "ask the last message again, in a fork from before it; the session stays as it is",
    Command.LOG: "list the session's last records",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A command that there is none of."""

    name: str


def meaning_of(line: str) -> Command | Unknown | str:
    """Tell commands from messages; a message that begins with a slash is typed with two."""
    text = line.strip()
    if text.startswith("//"):
        return text[1:]
    if not text.startswith("/"):
        return text
    name = text[1:]
    return Command(name) if name in {command.value for command in Command} else Unknown(name=name)


def help_lines() -> list[str]:
    """Explain the commands, each in a line."""
    explained = [f"/{command.value:8} {words}" for command, words in HELP.items()]
    return [*explained, "a message that begins with / is typed with two; Ctrl-C cancels a turn, and again leaves"]
