"""A fake model server that talks and reads, and forgets what it had cached when it is told to."""

from __future__ import annotations

import json

from service.core.json_types import JsonObject
from tests.cases.http_fake import Exchange
from tests.cases.replies import Reply
from tests.cases.strict_llama import StrictLlama
from tests.crashes.watched_reader import Reads, asked_section, is_of_reading, prompt_words, stream_said, words_in


class MeteredLlama(StrictLlama):
    """Plays the replies of conversations; readings get what `reads` says."""

    def __init__(self, reads: Reads, otherwise: Reply, *, slots: int, context_tokens: int) -> None:
        super().__init__(otherwise, slots=slots, context_tokens=context_tokens)
        self._reads = reads

    def forget(self, conversation: str) -> None:
        """Lose what was cached of a conversation, as a server does that had to use its memory for others."""
        self._cache.pop(conversation)

    async def _answer(self, exchange: Exchange) -> None:
        body: JsonObject = json.loads(exchange.body) if exchange.body else {}
        match exchange.path.removeprefix("/v1"):
            case "/tokenize":
                await exchange.answer({"tokens": list(range(words_in(body["content"])))})
            case "/chat/completions/input_tokens" if is_of_reading(body):
                await exchange.answer({"input_tokens": prompt_words(body), "object": "response.input_tokens"})
            case "/chat/completions" if is_of_reading(body):
                await stream_said(exchange, body, self._reads(asked_section(body)))
            case _:
                await super()._answer(exchange)
