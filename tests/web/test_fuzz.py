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

from service.core.ids import SessionId, TurnId
from service.web.app import create_app
from service.web.connection_bounds import bounds_of
from service.web.connections import bounded_connections
from service.web.openapi import openapi_document
from tests.web.fake_readings import FakeReadings
from tests.web.fakes import TURN, FakeApplication, FakeFollower, FakeSessions, stored
from tests.web.serving import BOUND_S, settings_with

SCHEMA = schemathesis.openapi.from_dict(openapi_document())


class OpenSessions(FakeSessions):
    """Any id is that of a session, and all that it does ends at once."""

    def _check(self, session: SessionId, turn: TurnId = TURN) -> None:
        self.follower = FakeFollower([stored(2), stored(3, "turn_finished")])
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
