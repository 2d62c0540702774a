"""The bytes of a completion's stream to its deltas and its end: `sse` and `completion` as one machine.

Above: the adapter, which has the network and the clock. Below: `sse`, `completion`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

from service.core.completion import CompletionAssembly
from service.core.completion_events import Completion, CompletionDelta
from service.core.errors import ModelFailure
from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import failure_in_stream
from service.core.sse import SseDecoder, SseError, SseEvent, SseItem, decoded

_END_MARK = "[DONE]"


class CompletionStream:
    """Read one completion. However the bytes are cut, the deltas, joined, and the end are the same."""

    def __init__(
        self, *, thinking_budget_tokens: int | None = None, prompt_estimate: int = 0, logprobs: bool = False
    ) -> None:
        self._decoder = SseDecoder()
        self._assembly = CompletionAssembly(
            thinking_budget_tokens=thinking_budget_tokens, prompt_estimate=prompt_estimate, logprobs=logprobs
        )
        self._failure: ModelFailure | None = None
        self.is_over = False
        """Whether nothing that still comes can change the end: stop reading."""
        self.has_events = False
        """Whether there was any event; where there was none, the server may be none that streams."""
        self.advances = 0
        """Grows with each token and each step of prompt processing (L4)."""

    def feed(self, chunk: bytes) -> list[CompletionDelta]:
        """Take what one read gave; a failure in it is kept for `finish`, so that what came before it is not lost."""
        deltas: list[CompletionDelta] = []
        if self.is_over:
            return deltas
        try:
            payloads = self._decoder.plain_payloads(chunk)
            if payloads is None:
                self._take_all(self._decoder.feed(chunk), deltas)
            else:
                self._take_payloads(payloads, deltas)
        except ModelFailure as failure:
            self.fail(failure)
        self.advances = self._assembly.advances
        return deltas

    def fail(self, failure: ModelFailure) -> None:
        """End the stream; an answer that has its finish reason is whole, whatever goes wrong behind it (L4)."""
        self.is_over = True
        if self._failure is None and self._assembly.finish_reason is None:
            self._failure = failure

    def release(self) -> list[CompletionDelta]:
        """Give the text that was still held back; call it when no more will be fed."""
        return self._assembly.release()

    def finish(self) -> Completion:
        """Give the completion: the stream failed or ended.

        Raises:
            ModelFailure: what went wrong in the stream, or that it ended too early.
        """
        if self._failure is not None:
            raise self._failure
        return self._assembly.finish()

    def _take_payloads(self, payloads: list[bytes], deltas: list[CompletionDelta]) -> None:
        """Take events that have nothing but data; nearly each is a piece of text, which needs no event made of it."""
        self.has_events = True
        plain = self._assembly.plain
        for payload in payloads:
            delta = plain(payload)
            if delta is not None:
                deltas.append(delta)
            elif self._take(SseEvent(decoded(payload)), deltas):
                self.is_over = True
                return

    def _take_all(self, items: Iterable[SseItem], deltas: list[CompletionDelta]) -> None:
        for item in items:
            if self._take(item, deltas):
                self.is_over = True
                return

    def _take(self, item: SseItem, deltas: list[CompletionDelta]) -> bool:
        """Take one item; True when it is the mark of the end."""
        if isinstance(item, SseEvent):
            self.has_events = True
            if item.data == _END_MARK:
                return True
            if item.event == "error":
                raise failure_in_stream(_error_of(item.data))
            if item.data and not item.data.isspace():
                deltas += self._assembly.feed(item.data)
        elif isinstance(item, SseError):
            raise failure_in_stream(_error_of(item.text))
        return False


def _error_of(text: str) -> JsonValue:
    """Give the error object of an `error` line or event, which builds wrap or don't; else the text itself."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return cast(JsonObject, value).get("error", value) if isinstance(value, dict) else text
