"""Chunks of a stream to deltas and, at its end, a finished completion or a typed failure (L4, L5).

Above: `completion_stream`, which has the bytes. Below: `think_tags`, `call_assembly`, `token_report`,
`token_probabilities`, `server_error`, `text_pieces`.
"""

from __future__ import annotations

import json
from typing import cast

import msgspec

from service.core.call_assembly import CallAssembly
from service.core.completion_events import Begun, Completion, CompletionDelta, ContentText, ReasoningText
from service.core.errors import ErrorKind, ModelFailure
from service.core.json_types import JsonObject, JsonValue
from service.core.plain_chunk import NOT_PLAIN, read_plain
from service.core.server_error import failure_in_stream
from service.core.text import encodable
from service.core.text_pieces import PIECES_TO_JOIN, TextPieces
from service.core.think_tags import ThinkTags
from service.core.token_probabilities import TokenProbabilities
from service.core.token_report import TokenReport

MAX_CHARACTERS = 4 * 1024 * 1024
"""Characters of one completion, thought and arguments included: about what a million tokens hold, more than any
context that a server has today. Beyond it a stream is a fault that would only fill the memory."""

_MAX_FINISH_REASON = 64
_MAX_ID = 256

# The server counts the thought's closing tag and joins a few tokens into one delta: of a budget of n tokens n - 2
# deltas came (n from 8 to 512, English). The eighth is for texts with several tokens to a character.
_BUDGET_SLACK = 4
_BUDGET_SLACK_SHARE = 8


class CompletionAssembly:
    """Put one completion together from the payloads of its events.

    `thinking_budget_tokens` is what the request carried; `prompt_estimate` is the prompt's size in tokens for the
    case that the server never tells it. `logprobs` says whether the probabilities of the tokens are kept. What comes
    behind the finish reason is read for its counts only.
    """

    def __init__(
        self, *, thinking_budget_tokens: int | None = None, prompt_estimate: int = 0, logprobs: bool = False
    ) -> None:
        self._budget_mark = _budget_mark(thinking_budget_tokens)
        self._prompt_estimate = prompt_estimate
        self._tags = ThinkTags()
        self._calls = CallAssembly()
        self._report = TokenReport()
        self._probabilities = TokenProbabilities() if logprobs else None
        self._content = TextPieces()
        self._reasoning = TextPieces()
        self._characters = 0
        self._pieces = 0
        self._reasoning_pieces = 0
        self._furthest_progress = -1
        self._begun = False
        self.finish_reason: str | None = None
        self.advances = 0
        """Grows with each token and each step of prompt processing: what tells a slow server from a stuck one."""

    def plain(self, payload: bytes) -> ContentText | ReasoningText | None:
        """Take the payload of one event if it is what nearly every token comes in, a piece of one text; else None.

        Nothing is taken when None is given, and `feed` is to take it. All is written out, because it is done at each
        token and a call costs as much as what it does.

        Raises:
            ModelFailure: the answer is too long.
        """
        if not self._begun or self._probabilities is not None or self.finish_reason is not None:
            return None
        try:
            choice = read_plain(payload).choices[0]
        except NOT_PLAIN:
            return None
        content, thought = choice.delta.content, choice.delta.reasoning_content
        if choice.index:
            return None
        if content and not thought and self._tags.passes_all:
            pieces, text, delta = self._content, content, ContentText(content)
        elif thought and not content:
            pieces, text, delta = self._reasoning, thought, ReasoningText(thought)
            self._reasoning_pieces += 1
        else:
            return None
        self.advances += 1
        self._pieces += 1
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise _too_long()
        pieces.newest.append(text)
        if not self._pieces % PIECES_TO_JOIN:
            pieces.join()
        return delta

    def feed(self, data: str) -> list[CompletionDelta]:
        """Take the payload of one event.

        Raises:
            ModelFailure: the server reports an error, or the payload is no chunk of a completion.
        """
        deltas: list[CompletionDelta] = []
        chunk = _parsed(data)
        if not self._begun:
            self._begin(chunk.get("id"), deltas)
        error: JsonValue = chunk.get("error")
        if error is not None:
            raise failure_in_stream(error)
        choices: JsonValue = chunk.get("choices")
        if choices and self.finish_reason is None:
            self._take_choices(choices, deltas)
        if "prompt_progress" in chunk:
            self._take_progress(chunk["prompt_progress"], deltas)
        if "usage" in chunk:
            self._report.take_usage(chunk["usage"])
        if self.finish_reason is not None and "timings" in chunk:
            self._report.take_timings(chunk["timings"])
        return deltas

    def release(self) -> list[CompletionDelta]:
        """Give the text that was held back for its tags: no more will come."""
        deltas: list[CompletionDelta] = []
        self._keep(self._tags.release(), deltas)
        return deltas

    def finish(self) -> Completion:
        """Give the completion; the counts that the server did not tell are ours (L4).

        Raises:
            ModelFailure: there was no finish reason, so nobody knows what is missing (L4).
        """
        if self.finish_reason is None:
            raise ModelFailure(ErrorKind.STREAM_CLOSED, "llama-server ended the stream before the answer was complete")
        content = self._content.text()
        return Completion(
            content=content,
            reasoning=self._reasoning.text(),
            calls=self._calls.calls(),
            finish_reason=self.finish_reason,
            usage=self._report.usage(
                pieces=self._pieces,
                reasoning_pieces=self._reasoning_pieces,
                prompt_estimate=self._prompt_estimate,
            ),
            timings=self._report.timings,
            estimated=not self._report.is_complete,
            tokens=self._probabilities.of(content) if self._probabilities is not None else (),
        )

    def _begin(self, completion_id: JsonValue, deltas: list[CompletionDelta]) -> None:
        # Every chunk carries the id; the first one that does tells what the completion is called (L6).
        if isinstance(completion_id, str) and 0 < len(completion_id) <= _MAX_ID:
            self._begun = True
            deltas.append(Begun(completion_id=encodable(completion_id)))

    def _take_choices(self, choices: JsonValue, deltas: list[CompletionDelta]) -> None:
        if not isinstance(choices, list):
            raise _malformed("choices is no list")
        # A cast is a call, and these are made at each token that is not the plainest.
        found: list[JsonValue] = choices  # pyright: ignore[reportUnknownVariableType]
        for choice in found:
            if not isinstance(choice, dict):
                raise _malformed("a choice is no object")
            members: JsonObject = choice  # pyright: ignore[reportUnknownVariableType]
            # We never ask for a second answer; one that comes all the same is not mixed into the first.
            if not members.get("index"):
                self._take_delta(members.get("delta"), deltas)
                if self._probabilities is not None:
                    self._take_probabilities(self._probabilities, members)
                if reason := members.get("finish_reason"):
                    self._take_finish_reason(reason, deltas)
            if self.finish_reason is not None:
                # What stands behind it in the same chunk is no more of the answer than the chunks that follow.
                return

    def _take_delta(self, delta: JsonValue, deltas: list[CompletionDelta]) -> None:
        if not isinstance(delta, dict):
            if delta is None:
                return
            raise _malformed("a delta is no object")
        members: JsonObject = delta  # pyright: ignore[reportUnknownVariableType]
        content: JsonValue = members.get("content")
        reasoning: JsonValue = members.get("reasoning_content") or members.get("reasoning")
        if reasoning:
            self._take_reasoning(reasoning, deltas)
        if content:
            self._take_content(content, deltas)
        pieces: JsonValue = members.get("tool_calls")
        if pieces and (added := self._calls.feed(pieces)):
            self._count(added)

    def _take_probabilities(self, probabilities: TokenProbabilities, choice: JsonObject) -> None:
        delta: JsonValue = choice.get("delta")
        # What comes with a thought, or without any text, is no token of the answer.
        if isinstance(delta, dict) and (content := cast(JsonObject, delta).get("content")):
            probabilities.take(content, choice.get("logprobs"))

    def _take_reasoning(self, text: JsonValue, deltas: list[CompletionDelta]) -> None:
        if not isinstance(text, str):
            raise _malformed("the reasoning is no text")
        self._count(len(text))
        self._reasoning_pieces += 1
        self._reasoning.add(text)
        deltas.append(ReasoningText(text=text))

    def _take_content(self, text: JsonValue, deltas: list[CompletionDelta]) -> None:
        if not isinstance(text, str):
            raise _malformed("the content is no text")
        self._count(len(text))
        if self._tags.passes_all:
            self._content.add(text)
            deltas.append(ContentText(text=text))
            return
        if self._budget_mark is not None and self._reasoning_pieces >= self._budget_mark:
            self._tags.expect_stray_closing()
        self._keep(self._tags.feed(text), deltas)

    def _keep(self, sorted_texts: list[ReasoningText | ContentText], deltas: list[CompletionDelta]) -> None:
        for text in sorted_texts:
            if isinstance(text, ReasoningText):
                self._reasoning_pieces += 1
                self._reasoning.add(text.text)
            else:
                self._content.add(text.text)
            deltas.append(text)

    def _take_finish_reason(self, reason: JsonValue, deltas: list[CompletionDelta]) -> None:
        if not isinstance(reason, str):
            raise _malformed("the finish reason is no text")
        self.finish_reason = reason[:_MAX_FINISH_REASON]
        self._keep(self._tags.release(), deltas)

    def _take_progress(self, progress: JsonValue, deltas: list[CompletionDelta]) -> None:
        told = self._report.take_progress(progress)
        if told is None:
            return
        if told.processed > self._furthest_progress:
            self._furthest_progress = told.processed
            self.advances += 1
        deltas.append(told)

    def _count(self, characters: int) -> None:
        self.advances += 1
        self._pieces += 1
        self._characters += characters
        if self._characters > MAX_CHARACTERS:
            raise _too_long()


def _budget_mark(thinking_budget_tokens: int | None) -> int | None:
    """Give the number of reasoning deltas from which on the budget counts as reached."""
    if thinking_budget_tokens is None:
        return None
    slack = max(_BUDGET_SLACK, thinking_budget_tokens // _BUDGET_SLACK_SHARE)
    return max(1, thinking_budget_tokens - slack)


def _parsed(data: str) -> JsonObject:
    # At each token, and msgspec takes 0.6 µs where Python's own reader takes 2.6.
    try:
        chunk: JsonValue = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        chunk = _parsed_anyway(data)
    if not isinstance(chunk, dict):
        raise _malformed("it is no object")
    members: JsonObject = chunk  # pyright: ignore[reportUnknownVariableType]
    return members


def _parsed_anyway(data: str) -> JsonValue:
    """Read what is JSON for Python only: odd numbers, and halves of surrogate pairs, made what can be kept."""
    try:
        chunk: JsonValue = json.loads(data)
        return json.loads(encodable(json.dumps(chunk, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise _malformed("it is no JSON") from error


def _too_long() -> ModelFailure:
    return ModelFailure(ErrorKind.PROTOCOL, f"llama-server sent more than {MAX_CHARACTERS} characters in one answer")


def _malformed(what: str) -> ModelFailure:
    return ModelFailure(ErrorKind.PROTOCOL, f"llama-server sent a chunk that can't be read: {what}")
