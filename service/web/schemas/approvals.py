"""What people are asked about calls, and what they answer (section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field

from service.config.shapes import StrictModel, Whole
from service.core.decisions import DecisionAsked
from service.core.records import DecisionSignature, PendingCall
from service.web.schemas.answer import Answer, Time
from service.web.schemas.text_bounds import LongText

REASON_CHARACTERS_MAX = 2000
DECISIONS_MAX = 1000

_Name = Annotated[str, Field(min_length=1, max_length=200)]


class PendingAnswer(Answer):
    """A call that waits for a decision; `arguments` is the raw text, and `digest` goes into the decision."""

    session: str
    turn: str
    call: int
    tool_call_id: str
    name: str
    title: str
    arguments: str
    digest: str
    reason: str
    asked_at: Time
    expires_at: Time | None


class ApprovalList(Answer):
    """What waits for a decision, over all sessions, what was asked first before the others."""

    items: list[PendingAnswer]
    count: int

    @classmethod
    def of(cls, pending: Sequence[PendingCall]) -> Self:
        """Show what waits."""
        return cls(items=[PendingAnswer.model_validate(call) for call in pending], count=len(pending))


class SignatureRequest(StrictModel):
    """An approver's signature, needed where approver_keys are set."""

    key: Annotated[_Name, Field(description="The name of the approver's key.")]
    value: Annotated[
        str, Field(min_length=1, max_length=200, description="The Ed25519 signature in base64url without padding.")
    ]


class DecisionRequest(StrictModel):
    """A decision on one call."""

    call: Annotated[int, Field(ge=1), Whole]
    approved: bool
    digest: Annotated[str, Field(min_length=1, max_length=200, description="The digest that is shown with the call.")]
    arguments: (
        Annotated[
            LongText,
            Field(description="JSON text to run the call with in place of the model's arguments; approved calls only."),
        ]
        | None
    ) = None
    reason: (
        Annotated[
            str, Field(max_length=REASON_CHARACTERS_MAX, description="Kept; of a denial the model is told it as well.")
        ]
        | None
    ) = None
    signature: SignatureRequest | None = None


class DecisionsRequest(StrictModel):
    """Decisions on calls of one turn: all are taken or none."""

    decisions: Annotated[list[DecisionRequest], Field(min_length=1, max_length=DECISIONS_MAX)]

    def to_asked(self) -> tuple[DecisionAsked, ...]:
        """Give them in the words of the core."""
        return tuple(
            DecisionAsked(
                call=decision.call,
                approved=decision.approved,
                digest=decision.digest,
                arguments=decision.arguments,
                reason=decision.reason,
                signature=_signature(decision.signature),
            )
            for decision in self.decisions
        )


def _signature(signed: SignatureRequest | None) -> DecisionSignature | None:
    return None if signed is None else DecisionSignature(key=signed.key, value=signed.value)
