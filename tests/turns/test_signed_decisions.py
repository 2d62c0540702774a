"""With approver keys a decision counts only when one of them signed it, also when its call is sent later (A5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.core.decision_signature import ApproverKeys, sign_decision
from service.core.decisions import DecisionAsked
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER
from service.core.records import ApprovalDecided, Outcome, PendingCall, ResultStatus
from service.core.views import TurnState
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port, decide, decision, until_end
from tests.turns.turn_facts import results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("A5")]

ALICE, MALLORY = (Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32) for byte in (1, 2))
KEYS = ApproverKeys({"alice": ALICE.public_key().public_bytes_raw()})
PAY_ROME, PAY_OSLO = call("pay", '{"city": "Rome"}', id="p"), call("pay", '{"city": "Oslo"}', id="q")


def signed(pending: PendingCall, key: Ed25519PrivateKey = ALICE) -> DecisionAsked:
    unsigned = decision(pending)
    signature = sign_decision(key, "alice", pending.digest, approved=True, arguments=None)
    return replace(unsigned, signature=signature)


async def test_an_approval_that_is_not_signed_or_by_another_key_is_refused_and_a_signed_one_runs_the_call() -> None:
    port = asking_port()
    house = House(ScriptedLlama(ask_for(PAY_ROME), say("Paid.")), port, approver_keys=KEYS)
    view = await house.run(await house.session())
    (pending,) = view.pending

    for wrong, why in ((decision(pending), "not signed"), (signed(pending, MALLORY), "not one of the key")):
        with pytest.raises(RequestRefused, match=why) as refused:
            await decide(house, view, wrong)
        assert refused.value.code is ProblemCode.FORBIDDEN
    assert (await house.sessions.turn(view.session, view.id, LOCAL_OWNER)).state is TurnState.AWAITING_APPROVAL
    assert port.calls == []

    await decide(house, view, signed(pending))
    assert (await until_end(house, view)).outcome is Outcome.ANSWERED
    assert len(port.calls) == 1
    (kept,) = [record for record in await house.records(view.session) if isinstance(record, ApprovalDecided)]
    assert kept.signature is not None
    assert kept.signature.key == "alice"


async def test_an_approval_from_before_the_keys_were_set_does_not_run_its_call_after() -> None:
    port = asking_port()
    before = House(ScriptedLlama(ask_for(PAY_ROME, PAY_OSLO)), port)
    view = await before.run(await before.session())
    rome, oslo = view.pending
    await decide(before, view, decision(rome))
    await before.sessions.shut_down(0)

    after = House(ScriptedLlama(say("Paid one.")), port, log=before.log, approver_keys=KEYS, clock=before.clock)
    await after.sessions.resume_unfinished()
    await decide(after, view, signed(oslo))
    assert (await until_end(after, view)).outcome is Outcome.ANSWERED

    first, second = await results_of(after, view.session)
    assert (first.status, second.status) == (ResultStatus.DENIED, ResultStatus.OK)
    assert "the approval is not valid" in first.content
    assert [request.arguments for request in port.calls] == [{"city": "Oslo"}]
