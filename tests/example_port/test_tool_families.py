"""What the tools do: weather, notes, clock, search."""

from datetime import UTC, datetime

import pytest

from service.example_port.app import create_app
from service.example_port.clock import clock_tools
from service.example_port.handbook import Page
from service.example_port.notes import MAX_CHARACTERS, MAX_NOTES
from service.example_port.text_search import search
from service.example_port.weather import WEATHER
from tests.example_port.port_client import PortClient, connected

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]

APPROVAL = {"by": "ada", "reason": None, "digest": "sha256:00", "decided_at": "2026-03-01T12:00:00Z"}


@pytest.mark.parametrize("city", ["paris", " PARIS ", "Paris, France", "São Paulo", "sao paulo", "Sa\u0303o Paulo"])
async def test_a_city_is_found_however_it_is_written(port: PortClient, city: str) -> None:
    answer = await port.call("get_weather", {"city": city})
    assert answer["content"] == WEATHER["Paris" if "par" in city.casefold() else "São Paulo"]


@pytest.mark.parametrize("city", ["Atlantis", "", ","])
async def test_an_unknown_city_fails_and_the_known_ones_are_named(port: PortClient, city: str) -> None:
    answer = await port.call("get_weather", {"city": city})
    assert answer["status"] == "failed"
    assert repr(city) in answer["message"]
    assert all(known in answer["message"] for known in WEATHER)


async def test_notes_are_added_listed_and_deleted(port: PortClient) -> None:
    assert (await port.call("add_note", {"text": "kites"}))["content"] == "Saved as note 2."
    assert (await port.call("add_note", {"text": "lines"}))["content"] == "Saved as note 3."
    assert (await port.call("delete_note", {"id": 2.0}))["content"] == "Deleted note 2."
    listed = await port.call("list_notes", {})
    assert listed["content"][1:] == [{"id": 3, "text": "lines"}]
    assert (await port.call("add_note", {"text": "wind"}))["content"] == "Saved as note 4."


async def test_an_unknown_note_fails_and_the_known_ids_are_named(port: PortClient) -> None:
    await port.call("add_note", {"text": "kites"})
    assert await port.call("delete_note", {"id": 9}) == {
        "status": "failed",
        "message": "there is no note 9; the ids are: 1, 2",
    }


async def test_the_note_of_the_port_itself_is_denied(port: PortClient) -> None:
    assert await port.call("delete_note", {"id": 1}) == {
        "status": "denied",
        "reason": "note 1 belongs to the port and stays",
    }
    assert len((await port.call("list_notes", {}))["content"]) == 1


async def test_clearing_waits_for_an_approval_and_then_runs_under_the_other_key(port: PortClient) -> None:
    await port.call("add_note", {"text": "kites"})
    assert await port.call("clear_notes", {}, key='"ses_1/2"') == {
        "status": "pending_approval",
        "reason": "this deletes all notes: 1",
    }
    assert len((await port.call("list_notes", {}))["content"]) == 2
    cleared = await port.call("clear_notes", {}, key='"ses_1/2/approved"', approval=APPROVAL)
    assert cleared == {"status": "result", "content": "Deleted all notes: 1."}
    assert [note["id"] for note in (await port.call("list_notes", {}))["content"]] == [1]


async def test_clearing_nothing_needs_no_approval(port: PortClient) -> None:
    assert (await port.call("clear_notes", {}))["content"] == "Deleted all notes: 0."


async def test_notes_are_bounded_in_number(port: PortClient) -> None:
    answers = [await port.call("add_note", {"text": "n"}) for _ in range(MAX_NOTES)]
    assert [answer["status"] for answer in answers[-2:]] == ["result", "failed"]
    await port.call("delete_note", {"id": 2})
    assert (await port.call("add_note", {"text": "n"}))["status"] == "result"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("n" * MAX_CHARACTERS, "result"),
        ("n" * (MAX_CHARACTERS + 1), "failed"),
        ("", "failed"),
        (" \n", "failed"),
    ],
)
async def test_a_note_has_text_of_a_bounded_length(port: PortClient, text: str, status: str) -> None:
    assert (await port.call("add_note", {"text": text}))["status"] == status


async def test_each_app_has_notes_of_its_own(port: PortClient) -> None:
    await port.call("add_note", {"text": "kites"})
    async with connected(create_app()) as other:
        assert len((await other.call("list_notes", {}))["content"]) == 1


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({}, {"time": "2026-03-01T23:30:05+00:00", "weekday": "Sunday", "zone": "UTC"}),
        ({"zone": "UTC"}, {"time": "2026-03-01T23:30:05+00:00", "weekday": "Sunday", "zone": "UTC"}),
        (
            {"zone": "Asia/Tokyo"},
            {"time": "2026-03-02T08:30:05+09:00", "weekday": "Monday", "zone": "Asia/Tokyo"},
        ),
    ],
)
async def test_the_clock_tells_the_time_of_a_zone(arguments: dict[str, object], content: dict[str, str]) -> None:
    tools = clock_tools(lambda: datetime(2026, 3, 1, 23, 30, 5, 999_999, tzinfo=UTC))
    async with connected(create_app(tools)) as port:
        assert await port.call("current_time", arguments) == {"status": "result", "content": content}


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "Europe", "../etc/passwd", "/etc/passwd", "a\0b"])
async def test_what_is_no_time_zone_fails(port: PortClient, zone: str) -> None:
    answer = await port.call("current_time", {"zone": zone})
    assert answer["status"] == "failed"
    assert "Europe/Paris" in answer["message"]


async def test_a_search_finds_the_page_that_fits_best(port: PortClient) -> None:
    answer = await port.call("search_text", {"query": "When is the shop OPEN?"})
    assert answer["content"][0]["title"] == "Opening hours"
    assert "Tuesday to Saturday" in answer["content"][0]["text"]
    assert answer["class"] == "public"


async def test_a_search_that_quotes_an_internal_page_says_so(port: PortClient) -> None:
    answer = await port.call("search_text", {"query": "carbon rods"})
    assert [page["title"] for page in answer["content"]] == ["Supplier prices"]
    assert answer["class"] == "internal"


async def test_the_class_of_a_search_is_that_of_its_highest_page(port: PortClient) -> None:
    answer = await port.call("search_text", {"query": "euros"})
    assert [page["title"] for page in answer["content"]] == ["Returns", "Supplier prices"]
    assert answer["class"] == "internal"


def test_a_rare_word_counts_more_than_common_ones() -> None:
    pages = [
        Page(title="wind", text="the wind and the sea"),
        Page(title="knot", text="the line and the knot"),
        Page(title="kite", text="the kite"),
    ]
    assert [page.title for page in search(pages, "and the kite")] == ["kite", "wind", "knot"]
    assert [page.title for page in search(pages, "the kite")] == ["kite"]


@pytest.mark.parametrize("query", ["", "?!", "quantum chromodynamics"])
async def test_a_search_without_a_hit_is_an_empty_result(port: PortClient, query: str) -> None:
    assert await port.call("search_text", {"query": query}) == {
        "status": "result",
        "content": [],
        "class": "public",
    }
