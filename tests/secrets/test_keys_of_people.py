"""The keys of callers and of approvers: used, refused and signed with, and nowhere to be found afterwards (K5)."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.adapters.key_file import KeyFile, KeyFileEditor
from service.core.api_keys import caller_of
from service.core.callers import Caller, Scope
from service.core.decision_signature import sign_decision
from service.core.ids import OwnerId
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import JSON, service_over
from tests.secrets.canaries import API_KEY, API_KEY_BYTES, APPROVER_SEED
from tests.secrets.search import canaries_in, search_folder

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K5", "K3", "A5")]

ALICE = Ed25519PrivateKey.from_private_bytes(APPROVER_SEED)
PUBLIC = urlsafe_b64encode(ALICE.public_key().public_bytes_raw()).rstrip(b"=").decode()
PLACES = ("/sessions", "/approvals", "/readyz", "/metrics", "/nothing", "/sessions/ses_0")


class KeysReadOnce:
    """A real file of keys, written and read before the service starts, which has nothing to wait for then."""

    def __init__(self, path: Path) -> None:
        editor = KeyFileEditor(path, random_bytes=lambda count: API_KEY_BYTES[:count])
        made = editor.add("ada", owner=OwnerId("ada"), scopes=frozenset(Scope))
        assert made.text == API_KEY
        self._keys = KeyFile(path).keys()

    def caller(self, presented: str) -> Caller | None:
        return caller_of(self._keys, presented)

    def version(self) -> int:
        return 0


async def test_neither_answers_nor_logs_nor_files_hold_the_key_of_a_caller_or_of_an_approver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = await asyncio.to_thread(KeysReadOnce, tmp_path / "keys")
    llama = StrictLlama(ask_for(Call(name="pay")), say("Paid."))
    port = FakePort(open_spec("pay", needs_approval=True))
    approvers = {"approver_keys": {"alice": PUBLIC}}
    async with llama, port, service_over(tmp_path, llama, port, keys, **approvers) as service:
        http = service.served.http
        wrong = {"Authorization": f"Bearer {API_KEY[:-1]}", "X-API-Key": API_KEY}
        told = [await http.get(place, headers=wrong) for place in PLACES]
        told += [await http.get(place, params={"key": API_KEY[:-1]}) for place in PLACES]
        http.headers["X-API-Key"] = API_KEY
        session = await service.session()
        turn = await service.turn(session)
        (asked,) = turn["pending"]
        signature = sign_decision(ALICE, "alice", asked["digest"], approved=True, arguments=None)
        decision = {"call": asked["call"], "approved": True, "digest": asked["digest"]}
        decision["signature"] = {"key": signature.key, "value": signature.value}
        path = f"{session}/turns/{turn['id']}"
        told.append(await http.post(f"{path}/decisions", json={"decisions": [decision]}, headers=JSON))
        told += [await http.get(place) for place in (*PLACES, session, f"{session}/records", f"{path}/events")]

    assert len(port.calls) == 1
    said = [json.dumps([dict(answer.headers), answer.text]) for answer in told]
    assert {name for text in said for name in canaries_in(text.encode())} == set()
    assert canaries_in(str(capsys.readouterr()).encode()) == set()
    assert search_folder(tmp_path) == []
