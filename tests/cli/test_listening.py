import socket

import pytest

from service.cli.listening import CannotListen, listen, url_of

pytestmark = pytest.mark.rules("D2")


def test_a_free_port_is_bound() -> None:
    with listen("127.0.0.1", 0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_a_port_that_another_server_has_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(CannotListen, match=f"^port {port} of 127.0.0.1 is in use$"):
            listen("127.0.0.1", port)


def test_a_port_whose_last_connection_is_still_closing_is_free() -> None:
    with listen("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = first.accept()
        accepted.close()
        client.close()

    listen("127.0.0.1", port).close()


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(CannotListen, match=r"^192\.0\.2\.1:8000 can't be listened on: "):
        listen("192.0.2.1", 8000)


def test_what_is_no_port_is_refused() -> None:
    with pytest.raises(CannotListen, match="is no address to listen on"):
        listen("127.0.0.1", -1)


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_an_address_is_shown_as_a_url(host: str, shown: str) -> None:
    with listen(host, 0) as bound:
        assert url_of(bound) == f"http://{shown}:{bound.getsockname()[1]}"
