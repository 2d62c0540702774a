import pytest

from service.web.origins import AllowedNames

pytestmark = pytest.mark.rules("K1")


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000", "[::1]", "box.lan:80"]
)
def test_a_loopback_name_and_our_own_address_are_answered_on_any_port(host: str) -> None:
    assert AllowedNames.of("box.lan", (), ()).is_our_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example:8000",
        "evil.example@localhost:8000",
        "localhost:8000@evil.example",
        "localhost:port",
        "localhost:99999",
        "localhost:80/evil",
        "[::1",
        "::1",
        "localhost.",
        "127.0.0.1.nip.io",
    ],
)
def test_any_other_host_is_not_answered(host: str) -> None:
    assert not AllowedNames.of("127.0.0.1", (), ()).is_our_host(host)


def test_an_ipv6_address_to_listen_on_is_answered_in_brackets() -> None:
    assert AllowedNames.of("fd00::7", (), ()).is_our_host("[fd00::7]:8000")


def test_a_name_allowed_with_a_port_is_answered_on_that_port_only() -> None:
    names = AllowedNames.of("127.0.0.1", ["Box.lan:9000"], ())

    assert names.is_our_host("box.LAN:9000")
    assert not names.is_our_host("box.lan:9001")
    assert not names.is_our_host("box.lan")


@pytest.mark.parametrize("origin", ["http://localhost:8000", "https://localhost:8000", "HTTP://LOCALHOST:8000"])
def test_our_own_pages_may_call(origin: str) -> None:
    assert AllowedNames.of("127.0.0.1", (), ()).is_allowed_origin(origin, "localhost:8000")


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://localhost",
        "http://localhost:8001",
        "http://evil.example",
        "http://localhost:8000.evil.example",
    ],
)
def test_pages_of_another_origin_may_not_call(origin: str) -> None:
    assert not AllowedNames.of("127.0.0.1", (), ()).is_allowed_origin(origin, "localhost:8000")


def test_a_page_of_an_allowed_origin_may_call() -> None:
    names = AllowedNames.of("127.0.0.1", (), ["https://App.example/"])

    assert names.is_allowed_origin("https://app.example", "localhost:8000")
    assert not names.is_allowed_origin("http://app.example", "localhost:8000")
