"""Why something with a server did not work, in a line: our own words, since foreign ones may hold secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
)
from pydantic import ValidationError

from service.mcp_port.http import BROKEN_OFF, PACKED, STATUS, UNREACHED
from service.mcp_port.stdio import TOO_LONG

NO_MCP = "does not answer as an MCP server does"


class EndlessList(MCPError):
    """A server's list of tools has no end."""


_INPUT = {
    "Elicitation not supported": "asks its user for input (elicitation)",
    "elicitation/create": "asks its user for input (elicitation)",
    "Sampling not supported": "asks for a model's answer (sampling)",
    "sampling/createMessage": "asks for a model's answer (sampling)",
    "List roots not supported": "asks for the user's folders (roots)",
    "roots/list": "asks for the user's folders (roots)",
}
"""What the SDK answers such a request, or says of one that can't even be sent; servers repeat it in their errors."""


def reason_of(error: BaseException) -> str:
    """Say why a server could not be reached or asked; the text completes "the server …"."""
    return next((words for one in _leaves(error) if (words := _words(one)) is not None), NO_MCP)


def is_too_long(error: MCPError) -> bool:
    """Say whether an answer was thrown away for its length: by our transports, or by the SDK's of event streams."""
    return TOO_LONG in error.message or (error.code == CONNECTION_CLOSED and "byte limit" in error.message)


def refused(error: MCPError) -> str | None:
    """Say which status a server refused with that used no words of MCP; None where the error is another one."""
    if error.code != INTERNAL_ERROR or not error.message.startswith(STATUS):
        return None
    status = error.message.removeprefix(STATUS)
    return f"answers with HTTP {status}{_STATUSES.get(status, '')}" if _NUMBER.fullmatch(status) else None


def was_not_made(error: MCPError) -> bool:
    """Say whether there was no connection to make the call over."""
    return error.code == INTERNAL_ERROR and error.message == UNREACHED


def is_broken_off(error: MCPError) -> bool:
    """Say whether the connection that a call was made over broke; that of an event stream is `is_lost`."""
    if error.code == PARSE_ERROR:
        # In the middle of an answer, of which the SDK says that it can't be read.
        return error.message.endswith(BROKEN_OFF)
    return error.code == INTERNAL_ERROR and error.message == BROKEN_OFF


def is_lost(error: MCPError) -> bool:
    """Say whether the connection ended, rather than the server answering with an error."""
    return error.code in (CONNECTION_CLOSED, INVALID_REQUEST) and error.message.startswith(_LOST)


def input_wanted(error: str) -> str | None:
    """Say what the tool asked for that this port can't give; None where the error is another one."""
    asked = next((words for said, words in _INPUT.items() if said in error), None)
    return None if asked is None else f"{asked}, which this port can't give"


_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (httpx2.ConnectError, UNREACHED),
    (httpx2.ConnectTimeout, UNREACHED),
    (httpx2.TransportError, BROKEN_OFF),
    (FileNotFoundError, "can't be started: there is no such program, or no such folder"),
    (PermissionError, "can't be started: the program may not be run, or the folder not be entered"),
    (OSError, "can't be started"),
    (ValidationError, NO_MCP),
)
"""The first line that fits is said."""

_NUMBER = re.compile(r"[45]\d\d")
_STATUSES = {
    "401": ": it asks for a login; put a token into its headers in the file",
    "403": ": it refuses whoever has these headers",
    "405": ": is the path of its url right?",
    "429": ": it is asked too often",
}

# What the SDK says itself of a connection that ended. Servers use the same code for errors of theirs.
_LOST = ("Connection closed", "SSE stream ", "Session terminated")


def _words(error: BaseException) -> str | None:
    if not isinstance(error, MCPError):
        return next((words for kind, words in _WORDS if isinstance(error, kind)), None)
    if is_too_long(error):
        return TOO_LONG
    if isinstance(error, EndlessList):
        return str(error)
    if PACKED in error.message:
        return PACKED
    if was_not_made(error):
        return UNREACHED
    if is_broken_off(error):
        return BROKEN_OFF
    if is_lost(error):
        return "closed the connection"
    if error.code == REQUEST_TIMEOUT:
        return "did not answer in time"
    if error.code == METHOD_NOT_FOUND:
        return "knows nothing of what every MCP client asks first: is the path of its url right?"
    return refused(error) or "refuses what every MCP client asks first"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    # The SDK's task groups wrap what happened.
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from _leaves(one)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error
