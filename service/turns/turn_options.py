"""Checks what is asked of a turn against the session that it runs in (P3, T12)."""

from __future__ import annotations

from service.core.errors import ProblemCode, RequestRefused
from service.core.limits import LimitTooHigh, lowered
from service.core.records import ToolChoice, TurnOptions
from service.turns.live_session import LiveSession
from service.turns.requests import TurnAsked


def turn_options(live: LiveSession, asked: TurnAsked) -> TurnOptions:
    """Give the options that the turn's first record keeps.

    Raises:
        RequestRefused: they don't go with the session's tools, or a limit would rise.
    """
    has_tools = bool(len(live.toolset))
    if asked.tool_choice is ToolChoice.REQUIRED and not has_tools:
        raise RequestRefused(ProblemCode.VALIDATION, "tool_choice required: this session has no tools.")
    if asked.response_format is not None and has_tools and asked.tool_choice is not ToolChoice.NONE:
        raise RequestRefused(
            ProblemCode.VALIDATION,
            "response_format goes with tools only when tool_choice is none: llama-server drops the tools otherwise.",
        )
    try:
        limits = lowered(live.baseline.limits, asked.limits)
    except LimitTooHigh as error:
        raise RequestRefused(ProblemCode.VALIDATION, str(error)) from error
    return TurnOptions(
        tool_choice=asked.tool_choice,
        on_tool_limit=asked.on_tool_limit,
        limits=limits,
        response_format=asked.response_format,
    )
