"""How log lines look: JSON where no terminal is, words on one; libraries' lines too, and never too many (K5)."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import pytest
import structlog
import uvicorn
from structlog.contextvars import bound_contextvars
from structlog.typing import EventDict

from service.cli.logs import configure_logs
from service.cli.repeated_lines import EACH_ONCE, LINES_A_MINUTE, RepeatedLines
from tests.written_logs import written_logs

pytestmark = pytest.mark.rules("K5")

SECRET = "what nobody should read"


class Terminal(io.StringIO):
    """A stream that says that people look at it."""

    def isatty(self) -> bool:
        return True


@contextmanager
def logs_on_a_terminal() -> Generator[Terminal]:
    before, handlers = structlog.get_config(), logging.getLogger().handlers[:]
    terminal = Terminal()
    configure_logs(terminal)
    structlog.configure(cache_logger_on_first_use=False)
    try:
        yield terminal
    finally:
        structlog.configure(**before)
        logging.getLogger().handlers[:] = handlers


def test_a_line_is_json_and_begins_with_its_time_its_level_and_its_event() -> None:
    with written_logs() as log:
        structlog.get_logger().warning("tool_port.list_failed", reason="Grüße\u2028\u202e\n", known=True)

    (text,) = log.getvalue().splitlines()
    assert text.isascii()
    line = json.loads(text)
    assert list(line) == ["timestamp", "level", "event", "reason", "known"]
    assert line["timestamp"].endswith("Z")
    assert (line["level"], line["reason"], line["known"]) == ("warning", "Grüße\u2028\u202e\n", True)


def test_what_json_has_no_form_for_is_told_all_the_same() -> None:
    with written_logs() as log:
        structlog.get_logger().info("something", raw=b"\xff", half="\ud800", kinds={1: {2}})

    (line,) = log.lines
    assert (line["raw"], line["half"], line["kinds"]) == ("b'\\xff'", "\ud800", {"1": "{2}"})


def test_on_a_terminal_a_line_is_for_people() -> None:
    with logs_on_a_terminal() as terminal:
        structlog.get_logger().info("turn.ended", outcome="answered", steps=2)

    (line,) = terminal.getvalue().splitlines()
    assert "turn.ended" in line
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(line)


def test_a_line_has_the_session_and_the_turn_in_which_it_is_written() -> None:
    with written_logs() as log:
        with bound_contextvars(session="ses_1", turn="trn_1"):
            structlog.get_logger().info("thinking.ended", known=True)
        structlog.get_logger().info("key_file.usable_again")

    inside, outside = log.lines
    assert (inside["session"], inside["turn"]) == ("ses_1", "trn_1")
    assert outside.keys().isdisjoint({"session", "turn"})


@pytest.mark.parametrize("logs", [written_logs, logs_on_a_terminal])
def test_a_defect_is_told_with_its_way_and_without_the_values_of_variables(
    logs: Callable[[], AbstractContextManager[io.StringIO]],
) -> None:
    def breaks(_: str) -> None:
        raise KeyError("place")

    with logs() as log:
        try:
            breaks(SECRET)
        except KeyError:
            structlog.get_logger().exception("turn.defect")

    told = log.getvalue()
    assert "KeyError" in told
    assert "breaks" in told
    assert SECRET not in told


def test_lines_of_libraries_look_the_same_and_only_warnings_are_written() -> None:
    with written_logs() as log:
        logging.getLogger("aiohttp").info("not this")
        logging.getLogger("asyncio").error("Task exception was %s retrieved", "never")

    (line,) = log.lines
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert (line["level"], line["event"], line["logger"]) == ("error", "Task exception was never retrieved", "asyncio")


@contextmanager
def uvicorn_as_it_is_first() -> Generator[None]:
    """Take back what servers of other tests have set up, for this time."""
    loggers = [logging.getLogger(name) for name in ("uvicorn", "uvicorn.error", "uvicorn.access")]
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers[:], logger.propagate = [], True
    try:
        yield
    finally:
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers[:], logger.propagate = handlers, propagate
            logger.setLevel(level)


def test_lines_of_uvicorn_look_the_same_where_it_brings_no_form_of_its_own() -> None:
    with written_logs() as log, uvicorn_as_it_is_first():
        uvicorn.Config("", log_config=None, log_level="warning", access_log=False)
        logging.getLogger("uvicorn.error").info("Started server process")
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")

    assert [line["event"] for line in log.lines] == ["Invalid HTTP request received."]


def test_to_configure_again_writes_each_line_once() -> None:
    with written_logs():
        log = io.StringIO()
        configure_logs(log)
        configure_logs(log)
        logging.getLogger("asyncio").error("once")

    assert log.getvalue().count("once") == 1


class Minutes:
    """A time that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines_let_through(bound: RepeatedLines, number: int, event: str = "tool_port.no_exchange") -> list[EventDict]:
    through: list[EventDict] = []
    for _ in range(number):
        try:
            through.append(bound(None, "warning", {"event": event}))
        except structlog.DropEvent:
            continue
    return through


def test_so_many_lines_of_a_kind_are_written_in_a_minute_and_then_how_many_were_left_out() -> None:
    time = Minutes()
    bound = RepeatedLines(3, time)

    assert len(lines_let_through(bound, 10)) == 3
    assert len(lines_let_through(bound, 2, "another.kind")) == 2
    time.now += 59
    assert lines_let_through(bound, 1) == []
    time.now += 1
    first, second = lines_let_through(bound, 2)
    assert first == {"event": "tool_port.no_exchange", "left_out_before": 8}
    assert second == {"event": "tool_port.no_exchange"}


def test_the_line_of_each_turn_is_written_however_many_there_are() -> None:
    bound = RepeatedLines(3, Minutes())

    for event in EACH_ONCE:
        assert len(lines_let_through(bound, 50, event)) == 50


def test_a_library_that_repeats_itself_is_bounded_too() -> None:
    with written_logs() as log:
        for number in range(3 * LINES_A_MINUTE):
            logging.getLogger("asyncio").error("socket.send() raised exception %d", number)

    assert len(log.lines) == LINES_A_MINUTE
