"""Requests made from the API's own description: each is answered as described, and nothing is a 500 (H2)."""

# pyright: basic
# The types that schemathesis gives its own classes are partly unknown.

import socket
import threading
from collections.abc import Iterator

import pytest
import schemathesis
import uvicorn
from hypothesis import settings
from schemathesis.specs.openapi.checks import negative_data_rejection

from service.codec import encode_record
from service.core.ids import SessionId, TurnId
from service.core.records import Entry, Outcome, Record, SessionTotals, TurnFinished, TurnOptions, User
from service.core.usage import UsageTotals
from service.ports import StoredRecord
from service.web.app import create_app
from service.web.connection_bounds import bounds_of
from service.web.connections import bounded_connections
from service.web.openapi import openapi_document
from tests.web.fake_readings import FakeReadings
from tests.web.fakes import NOON, SESSION, TURN, FakeApplication, FakeFollower, FakeSessions
from tests.web.serving import BOUND_S, settings_with

SCHEMA = schemathesis.openapi.from_dict(openapi_document())


def stored(seq: int, record: Record) -> StoredRecord:
    """A record as the store keeps it, whole: what is streamed is compared with its schema as well."""
    body = encode_record(Entry(session=SESSION, turn=TURN, seq=seq, time=NOON, record=record))
    return StoredRecord(session=SESSION, turn=TURN, type=record.type, seq=seq, pos=seq * 10, body=body, hash=bytes(32))


ASKED = stored(2, User(content="Hi", options=TurnOptions()))
ENDED = stored(3, TurnFinished(outcome=Outcome.CANCELLED, steps=0, usage=UsageTotals(), totals=SessionTotals()))


class OpenSessions(FakeSessions):
    """Any id is that of a session, and all that it does ends at once."""

    def _check(self, session: SessionId, turn: TurnId = TURN) -> None:
        self.follower = FakeFollower([ASKED, ENDED])
        self.turn_ended.set()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A service in a thread of its own, because the generated requests come from code that blocks."""
    app = create_app(settings_with(), FakeApplication(sessions=OpenSessions(), readings=FakeReadings(known=True)).build)
    server = uvicorn.Server(
        uvicorn.Config(
            app, http=bounded_connections(bounds_of(settings_with())), log_level="error", ws="none", lifespan="on"
        )
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=server.run, args=([listener],), name="uvicorn")
        serving.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        serving.join(BOUND_S)
    assert not serving.is_alive()


@pytest.mark.rules("H2")
@SCHEMA.parametrize()
@settings(max_examples=25, deadline=None, derandomize=True)
def test_each_request_is_answered_as_described(case: schemathesis.Case, address: str) -> None:
    # In a form all is text: 5 is as good a question as any.
    unfit = [negative_data_rejection] if case.media_type == "multipart/form-data" else []
    # The generated headers may hold a Host of their own, which is refused before anything is looked at.
    case.call_and_validate(base_url=address, headers={"Host": "localhost"}, timeout=BOUND_S, excluded_checks=unfit)
