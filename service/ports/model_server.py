"""llama-server, as the loop needs it (DESIGN section 6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from service.core.baseline import TemplateProfile
from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.slot_state import SlotState


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What llama-server says of itself: tokens of context per slot, number of slots, its template's profile."""

    context_tokens: int
    slots: int
    model: str | None
    template: TemplateProfile


Take = Callable[[Sequence[CompletionDelta]], bool]
"""Takes deltas that came together, without waiting for anything; it may raise a `ModelFailure`, which breaks them off.

False keeps what comes next until the batch that follows, which may be empty, was taken from the generator: so that
something can be awaited first.
"""


class Llama(Protocol):
    """llama-server."""

    def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        """Ask for one completion: batches of deltas as they arrive together, last the finished completion.

        With `take` deltas may be given to it in place of being yielded, in the moment in which they come. Batches may
        be empty. Closing the generator closes the connection at once, which is what stops the server (L8).

        Raises:
            ModelFailure: the stream did not end in a usable completion (L3, L4).
        """
        ...

    async def end_thought(self, completion_id: str) -> bool:
        """Have the server end the thought of a running completion; False when it doesn't know it (L6).

        Raises:
            ModelFailure: the server is away or has no such endpoint.
        """
        ...

    async def facts(self) -> ServerFacts:
        """Ask `/props` and probe the template (L10).

        Raises:
            ModelFailure: the server is away, loads, or answers with something else.
        """
        ...

    async def slots(self) -> Sequence[SlotState]:
        """Ask `/slots`.

        Raises:
            ModelFailure: the server is away, or does not tell them.
        """
        ...

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Count the prompt's tokens as the server would see it (P7).

        Raises:
            ModelFailure: the server is away or refuses.
        """
        ...

    async def count_text(self, text: str) -> int:
        """Count the tokens of a text of at most 1 MiB by itself, as it would count in the middle of a prompt.

        Raises:
            ModelFailure: the server is away or refuses.
        """
        ...

    async def render(self, request: CompletionRequest) -> str:
        """Give the prompt as the server's template makes it (`/apply-template`).

        Raises:
            ModelFailure: the server is away, or its template refuses the messages.
        """
        ...

    async def check(self) -> None:
        """Ask `/health`.

        Raises:
            ModelFailure: the server is away or loads; the message says which.
        """
        ...
