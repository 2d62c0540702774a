"""The log of a session: pages, export, and a result in full."""

import json

import httpx
import pytest

from service.core.errors import StoreFailure
from tests.web.fakes import FakeSessions, stored
from tests.web.serving import Served

pytestmark = pytest.mark.anyio

RECORDS = "/sessions/ses_1/records"
LINES = {"Accept": "application/x-ndjson"}
FULL = f"{RECORDS}/7/full"
WHOLE = "\ufeff<b>a</b>\r\nb\rc\x00\u2028\U0001f9f5\n"


@pytest.fixture
def log(sessions: FakeSessions) -> list[int]:
    sessions.log = [stored(seq, content="a\u2028b\u0085c") for seq in range(1, 451)]
    return list(range(1, 451))


async def test_records_come_in_pages_by_seq(http: httpx.AsyncClient, log: list[int]) -> None:
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        page = (await http.get(f"{RECORDS}?limit=200&after={after}")).json()
        seen += [record["seq"] for record in page["items"]]
        after = page["next"]

    assert seen == log


async def test_a_record_is_shown_as_in_its_stream(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.log = [stored(1, content="Hi")]

    response = await http.get(RECORDS)

    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "items": [
            {
                "type": "user",
                "session": "ses_1",
                "turn": "trn_1",
                "seq": 1,
                "pos": 10,
                "time": "2026-01-02T12:00:00.000000Z",
                "content": "Hi",
            }
        ],
        "next": None,
        "hashes": ["00" * 32],
    }


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("query", "first", "count", "following"),
    [
        ("", 1, 50, 50),
        ("?limit=1", 1, 1, 1),
        ("?limit=200&after=250", 251, 200, None),
        ("?limit=199&after=250", 251, 199, 449),
        ("?after=400", 401, 50, None),
    ],
)
async def test_a_page_tells_whether_there_is_more(
    http: httpx.AsyncClient, query: str, first: int, count: int, following: int | None
) -> None:
    page = (await http.get(f"{RECORDS}{query}")).json()

    assert (page["items"][0]["seq"], len(page["items"]), page["next"]) == (first, count, following)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("after", ["450", "451", "9223372036854775808", "9" * 30])
async def test_behind_the_end_there_is_nothing(http: httpx.AsyncClient, after: str) -> None:
    assert (await http.get(f"{RECORDS}?after={after}")).json() == {"items": [], "next": None, "hashes": []}


@pytest.mark.rules("H2")
@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=", "limit=0", "limit=201", "before=3"])
async def test_a_wrong_page_is_refused(http: httpx.AsyncClient, query: str) -> None:
    assert (await http.get(f"{RECORDS}?{query}")).status_code == 422


@pytest.mark.rules("H6")
async def test_a_log_is_exported_whole_one_record_a_line(
    service: Served, sessions: FakeSessions, log: list[int]
) -> None:
    response = await service.http.get(RECORDS, headers=LINES)

    # Split as readers do who take each Unicode line separator for the end of a line.
    records = [json.loads(line) for line in response.text.splitlines()]
    assert response.headers["content-type"].partition(";")[0] == "application/x-ndjson"
    assert [record["seq"] for record in records] == log
    assert {record["content"] for record in records} == {"a\u2028b\u0085c"}
    # Page by page: the whole log is never in memory.
    assert max(limit for _, limit in sessions.reads) == 200


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(("query", "first", "count"), [("after=440", 441, 10), ("limit=3", 1, 3)])
async def test_a_part_of_a_log_is_exported(http: httpx.AsyncClient, query: str, first: int, count: int) -> None:
    lines = (await http.get(f"{RECORDS}?{query}", headers=LINES)).text.splitlines()

    assert (json.loads(lines[0])["seq"], len(lines)) == (first, count)


async def test_an_empty_export_is_empty(http: httpx.AsyncClient) -> None:
    response = await http.get(f"{RECORDS}?after=9", headers=LINES)

    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.rules("H2")
async def test_the_export_of_a_session_that_is_not_there_is_not_found(service: Served) -> None:
    response = await service.http.get("/sessions/ses_2/records", headers=LINES)

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.usefixtures("log")
async def test_an_export_that_breaks_is_seen_as_broken(service: Served, sessions: FakeSessions) -> None:
    sessions.second_read_fails = StoreFailure("disk gone")

    with pytest.raises(httpx.RemoteProtocolError):
        await service.http.get(RECORDS, headers=LINES)


@pytest.mark.rules("H1")
async def test_a_log_in_another_form_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.get(RECORDS, headers={"Accept": "text/csv"})

    assert (response.status_code, response.json()["code"]) == (406, "not_acceptable")


@pytest.fixture
def whole(sessions: FakeSessions) -> str:
    sessions.full_texts = {7: WHOLE}
    return WHOLE


@pytest.mark.rules("T9")
@pytest.mark.parametrize("accept", ["*/*", "text/plain", "text/*;q=0.1, application/json"])
async def test_a_result_comes_in_full_as_plain_text_that_nobody_keeps_or_guesses_at(
    service: Served, whole: str, accept: str
) -> None:
    response = await service.http.get(FULL, headers={"Accept": accept})

    assert response.status_code == 200
    assert response.content == whole.encode()
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["content-length"] == str(len(whole.encode()))
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.rules("T9")
@pytest.mark.parametrize("text", ["", "\u20ac" * (3 * 1024 * 1024)], ids=["empty", "9 MiB"])
async def test_a_result_of_any_length_comes_whole(service: Served, sessions: FakeSessions, text: str) -> None:
    sessions.full_texts = {7: text}

    response = await service.http.get(FULL)

    assert (response.status_code, response.content == text.encode()) == (200, True)


@pytest.mark.rules("T9", "H1")
async def test_head_tells_how_long_a_result_is(service: Served, whole: str) -> None:
    response = await service.http.head(FULL)
    missing = await service.http.head(f"{RECORDS}/8/full")

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["content-length"] == str(len(whole.encode()))
    assert missing.status_code == 404


@pytest.mark.rules("T9", "H1")
@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("accept", ["application/json", "text/html", "text/plain;q=0, */*"])
async def test_a_result_in_another_form_is_refused(service: Served, accept: str) -> None:
    response = await service.http.get(FULL, headers={"Accept": accept})

    assert (response.status_code, response.json()["code"]) == (406, "not_acceptable")
    assert "text/plain" in response.json()["detail"]


@pytest.mark.rules("T9", "H2")
@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("seq", ["0", "-1", "x", "7.0", "7e0", "+7", "07", "%207", "7_0", "\u0667"])
async def test_a_seq_that_is_no_positive_number_is_refused(service: Served, seq: str) -> None:
    response = await service.http.get(f"{RECORDS}/{seq}/full")

    assert (response.status_code, response.json()["code"]) == (422, "validation")
    assert response.json()["errors"][0]["field"] == "seq"


@pytest.mark.rules("T9", "H2")
@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize(
    "path",
    [
        f"{RECORDS}/8/full",
        f"{RECORDS}/9223372036854775808/full",
        f"{RECORDS}/{'9' * 5000}/full",
        "/sessions/ses_2/records/7/full",
        f"{RECORDS}/7",
    ],
)
async def test_a_result_that_is_not_there_is_not_found(service: Served, path: str) -> None:
    response = await service.http.get(path)

    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.rules("T9", "H2")
@pytest.mark.usefixtures("whole")
async def test_a_result_takes_no_query_and_is_only_read(service: Served) -> None:
    queried = await service.http.get(f"{FULL}?offset=3")
    written = await service.http.delete(FULL)

    assert (queried.status_code, queried.json()["code"]) == (422, "validation")
    assert (written.status_code, written.headers["allow"]) == (405, "GET, HEAD")
